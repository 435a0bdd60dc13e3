package indicator

import (
	"compress/gzip"
	"encoding/csv"
	"math"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// table is a golden file: values by column and bar, NaN where the cell is empty.
type table struct {
	bars    []int
	columns map[string][]float64
}

func readTable(t *testing.T, name string) table {
	t.Helper()
	f, err := os.Open("testdata/" + name + ".csv.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	unpacked, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(unpacked).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	g := table{columns: map[string][]float64{}}
	for _, row := range rows[1:] {
		bar, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		g.bars = append(g.bars, bar)
		for k, cell := range row[1:] {
			v := math.NaN()
			if cell != "" {
				if v, err = strconv.ParseFloat(cell, 64); err != nil {
					t.Fatal(err)
				}
			}
			g.columns[rows[0][k+1]] = append(g.columns[rows[0][k+1]], v)
		}
	}
	return g
}

func (g table) asBars() *market.Bars {
	b := &market.Bars{Symbol: "GOLDEN", Timeframe: market.H1}
	for i, bar := range g.bars {
		b.Append(market.Bar{
			Time: int64(bar) * 3600,
			Open: g.columns["open"][i], High: g.columns["high"][i], Low: g.columns["low"][i],
			Close: g.columns["close"][i], Volume: g.columns["volume"][i],
		})
	}
	return b
}

// golden says which golden columns an indicator's outputs must equal; "" is an
// output that the file does not have.
type golden struct {
	indicator string
	settings  []Setting
	columns   []string
	filled    bool // the file holds made-up numbers during warm-up
}

func set(name string, x float64) Setting    { return Setting{Name: name, Number: x} }
func choose(name, text string) Setting      { return Setting{Name: name, Text: text, IsText: true} }
func periodOf(x float64) []Setting          { return []Setting{set("period", x)} }
func settings(s ...Setting) []Setting       { return s }
func one(column string) []string            { return []string{column} }
func three(prefix, a, b, c string) []string { return []string{prefix + a, prefix + b, prefix + c} }

func bands(mult float64, period float64) []Setting {
	return settings(set("period", period), set("multiplier", mult))
}

var talib = []golden{
	{"sma", periodOf(10), one("sma_10"), false},
	{"sma", periodOf(30), one("sma_30"), false},
	{"ema", periodOf(12), one("ema_12"), false},
	{"ema", periodOf(26), one("ema_26"), false},
	{"wma", periodOf(10), one("wma_10"), false},
	{"wma", periodOf(20), one("wma_20"), false},
	{"rsi", periodOf(14), one("rsi_14"), false},
	{"rsi", periodOf(7), one("rsi_7"), false},
	{"roc", periodOf(10), one("roc_10"), false},
	{"roc", periodOf(25), one("roc_25"), false},
	{"momentum", periodOf(10), one("mom_10"), false},
	{"momentum", periodOf(20), one("mom_20"), false},
	{"cci", periodOf(20), one("cci_20"), false},
	{"cci", periodOf(14), one("cci_14"), false},
	{"williamsr", periodOf(14), one("willr_14"), false},
	{"williamsr", periodOf(21), one("willr_21"), false},
	{"stochastic", nil, []string{"stoch_14_3_3_k", "stoch_14_3_3_d"}, false},
	{"stochastic", settings(set("k_period", 5)), []string{"stoch_5_3_3_k", "stoch_5_3_3_d"}, false},
	{"aroon", periodOf(14), []string{"aroon_14_up", "aroon_14_down", "aroonosc_14"}, false},
	{"aroon", periodOf(25), []string{"aroon_25_up", "aroon_25_down", "aroonosc_25"}, false},
	{"atr", periodOf(14), one("atr_14"), false},
	{"atr", periodOf(10), one("atr_10"), false},
	{"bollingerbands", nil, three("bbands_20_2.0_2.0_", "upper", "middle", "lower"), false},
	{"bollingerbands", bands(1.5, 10), []string{"bbands_10_1.5_2.5_upper", "bbands_10_1.5_2.5_middle", ""}, false},
	{"bollingerbands", bands(2.5, 10), []string{"", "", "bbands_10_1.5_2.5_lower"}, false},
	{"macd", nil, three("macd_12_26_9_", "macd", "signal", "hist"), false},
	{
		"macd", settings(set("fast_period", 6), set("slow_period", 19), set("signal_period", 5)),
		three("macd_6_19_5_", "macd", "signal", "hist"), false,
	},
	{"adx", periodOf(14), []string{"adx_14", "plus_di_14", "minus_di_14"}, false},
	{"adx", periodOf(8), []string{"adx_8", "plus_di_8", "minus_di_8"}, false},
	{"parabolicsar", nil, one("sar_0.02_0.2"), false},
	{
		"parabolicsar", settings(set("initial_af", 0.05), set("step_af", 0.05), set("max_af", 0.5)),
		one("sar_0.05_0.5"), false,
	},
	{"obv", nil, one("obv"), false},
	{"mfi", periodOf(14), one("mfi_14"), false},
	{"mfi", periodOf(7), one("mfi_7"), false},
	{"adline", nil, []string{"ad", "", "", "", "", ""}, false},
}

var reference = []golden{
	{"keltnerchannels", nil, three("keltner.", "upper", "middle", "lower"), false},
	{"donchianchannels", nil, three("donchian.", "upper", "middle", "lower"), false},
	{"ichimoku", nil, ichimokuColumns, false},
	{"fishertransform", nil, []string{"fisher.fisher", "fisher.signal"}, false},
	{"rvi", nil, []string{"rvi.rvi", "rvi.signal"}, false},
	{"cmf", nil, cmfColumns, true},
	{"adline", nil, []string{"", "cmf.mf_multiplier", "cmf.mf_volume", "", "", ""}, false},
	{"vwap", nil, one("vwap"), false},
	{"volumeratio", nil, one("volumeratio"), true},
	{"distancefromma", nil, one("distance"), false},
	{"squeezeintensity", nil, one("squeeze"), true},
	{"bollingerbandwidth", nil, one("bbwidth"), true},
}

var referenceOther = []golden{
	{
		"keltnerchannels", settings(set("period", 10), set("atr_period", 14), set("multiplier", 1.5)),
		three("keltner.", "upper", "middle", "lower"), false,
	},
	{"donchianchannels", periodOf(30), three("donchian.", "upper", "middle", "lower"), false},
	{
		"ichimoku", settings(set("tenkan_period", 5), set("kijun_period", 20), set("senkou_b_period", 40)),
		ichimokuColumns, false,
	},
	{"fishertransform", settings(set("period", 20), set("smoothing", 1)), []string{"fisher.fisher", "fisher.signal"}, false},
	{"rvi", settings(set("period", 6), set("signal_period", 3)), []string{"rvi.rvi", "rvi.signal"}, false},
	{"cmf", periodOf(10), cmfColumns, true},
	{"vwap", periodOf(0), one("vwap"), false},
	{"volumeratio", periodOf(50), one("volumeratio"), true},
	{"distancefromma", settings(set("period", 40), choose("ma_type", "EMA")), one("distance"), false},
	{"squeezeintensity", settings(set("kc_multiplier", 1.5)), one("squeeze"), true},
	{"bollingerbandwidth", bands(1.5, 10), one("bbwidth"), true},
}

var superTrends = []golden{
	{"supertrend", nil, []string{"trend_10_3", "direction_10_3"}, false},
	{"supertrend", settings(set("period", 14), set("multiplier", 2)), []string{"trend_14_2", "direction_14_2"}, false},
}

var (
	ichimokuColumns = []string{
		"ichimoku.tenkan", "ichimoku.kijun", "ichimoku.senkou_a", "ichimoku.senkou_b", "ichimoku.chikou",
	}
	cmfColumns = []string{
		"cmf.cmf", "cmf.mf_multiplier", "cmf.mf_volume", "cmf.momentum", "cmf.signal", "cmf.histogram",
		"cmf.above_zero", "cmf.below_zero",
	}
)

func TestGolden_TALib(t *testing.T) {
	wantGolden(t, readTable(t, "talib_input").asBars(), readTable(t, "talib_outputs"), talib)
}

func TestGolden_Reference(t *testing.T) {
	bars := readTable(t, "reference_input").asBars()
	wantGolden(t, bars, readTable(t, "reference_indicators"), reference)
	wantGolden(t, bars, readTable(t, "reference_indicators_alt"), referenceOther)
	wantGolden(t, bars, readTable(t, "reference_supertrend_started"), superTrends)
}

// wantGolden requires every cell within 1e-9 of the column's largest magnitude,
// and a value exactly where the file has one. Where the file fills the warm-up
// with numbers, it is compared from the first true value on.
func wantGolden(t *testing.T, bars *market.Bars, file table, cases []golden) {
	t.Helper()
	for _, g := range cases {
		x, err := New(g.indicator, g.settings)
		if err != nil {
			t.Fatal(err)
		}
		out := compute(x, bars)
		for k, column := range g.columns {
			if column == "" {
				continue
			}
			want, ok := file.columns[column]
			if !ok {
				t.Fatalf("the golden file has no column %s", column)
			}
			tolerance := 0.0
			for _, v := range want {
				if v == v {
					tolerance = max(tolerance, 1e-9*math.Abs(v))
				}
			}
			for i, bar := range file.bars {
				got := out[k][bar]
				if g.filled && bar < x.WarmUp()[k] {
					if got == got {
						t.Errorf("%s at bar %d is %v during warm-up, want NaN", column, bar, got)
					}
					continue
				}
				if (got == got) != (want[i] == want[i]) || math.Abs(got-want[i]) > tolerance {
					t.Errorf("%s at bar %d is %v, want %v", column, bar, got, want[i])
					break
				}
			}
		}
	}
}

// The file's zigzag stands on the bars of the pivots; ours tells them when they
// are confirmed. The pivots are the same, the last one of the file excepted: it
// is the end of a leg that nothing has confirmed.
func TestGolden_ZigzagTellsThePivotsOfTheReferenceLater(t *testing.T) {
	bars := readTable(t, "reference_input").asBars()
	for _, c := range []struct {
		file      string
		threshold float64
		bars      int
	}{{"reference_indicators", 0.01, 3000}, {"reference_indicators_alt", 0.003, 800}} {
		file := readTable(t, c.file)
		var want []float64
		at := map[float64]int{}
		for i, v := range file.columns["zigzag"] {
			if v == v {
				want = append(want, v)
				at[v] = file.bars[i]
			}
		}
		x, err := New("zigzag", settings(set("threshold", c.threshold)))
		if err != nil {
			t.Fatal(err)
		}
		out := compute(x, bars.Slice(0, c.bars))
		var got []float64
		for i, v := range out[0] {
			if len(got) > 0 && got[len(got)-1] == v {
				continue
			}
			got = append(got, v)
			if known := at[v]; i < known || (i == known && i > 0) {
				t.Errorf("the pivot %v of bar %d is told at bar %d, before it can be known", v, known, i)
			}
		}
		if !slices.Equal(got, want[:len(want)-1]) {
			t.Errorf("threshold %v gives %d pivots %v, want %d: %v", c.threshold, len(got), got, len(want)-1, want[:len(want)-1])
		}
	}
}

func TestGolden_EveryIndicatorHasOne(t *testing.T) {
	covered := map[string]map[string]bool{"zigzag": {"pivot": true}}
	for _, g := range slices.Concat(talib, reference, referenceOther, superTrends) {
		d, _ := Lookup(g.indicator)
		for k, column := range g.columns {
			if covered[d.Name] == nil {
				covered[d.Name] = map[string]bool{}
			}
			if column != "" {
				covered[d.Name][d.Outputs[k]] = true
			}
		}
	}
	for _, d := range Definitions() {
		for _, output := range d.Outputs {
			if !covered[d.Name][output] && withoutGolden[d.Name+"."+output] == "" {
				t.Errorf("%s.%s equals no golden column, and withoutGolden does not say why", d.Name, output)
			}
		}
	}
}

// withoutGolden says what holds the outputs that no golden file has.
var withoutGolden = map[string]string{
	"adline.roc_10":            "TestPlain_ADLine",
	"adline.momentum_21":       "TestPlain_ADLine",
	"adline.relative_strength": "TestPlain_ADLine",
	"barssinceopen.value":      "TestBarsSinceOpen_BeginsAgainBehindAGap",
	"hour.hour":                "TestHour_IsThatOfTheOpeningInUTC",
	"hour.sin":                 "TestHour_IsThatOfTheOpeningInUTC",
	"hour.cos":                 "TestHour_IsThatOfTheOpeningInUTC",
	"session.asia":             "TestSession_BeginsWithItsHourAndEndsBeforeIt",
	"session.london":           "TestSession_BeginsWithItsHourAndEndsBeforeIt",
	"session.newyork":          "TestSession_BeginsWithItsHourAndEndsBeforeIt",
	"weekday.weekday":          "TestWeekday_CountsDaysFromMonday",
	"weekday.sin":              "TestWeekday_CountsDaysFromMonday",
	"weekday.cos":              "TestWeekday_CountsDaysFromMonday",
	"zigzag.direction":         "TestPlain_Zigzag",
	"zigzag.change":            "TestPlain_Zigzag",
}
