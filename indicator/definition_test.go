package indicator

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestDefinitions_AreComplete(t *testing.T) {
	all := Definitions()
	if len(all) != 35 {
		t.Errorf("there are %d indicators, want 35", len(all))
	}
	if !slices.IsSortedFunc(all, func(a, b Definition) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the definitions are not sorted by name")
	}
	for _, d := range all {
		if !strings.HasSuffix(d.Doc, ".") || len(d.Doc) < 40 {
			t.Errorf("%s does not say what it is: %q", d.Name, d.Doc)
		}
		if !slices.Contains([]string{"TA-Lib", "reference", "ktrdr"}, d.Follows) {
			t.Errorf("%s follows %q", d.Name, d.Follows)
		}
		if len(d.Units) != len(d.Outputs) {
			t.Errorf("%s has %d outputs and %d units", d.Name, len(d.Outputs), len(d.Units))
		}
		for _, p := range d.Params {
			if p.Doc == "" || p.Default < p.Min || p.Default > p.most() || p.Min > p.most() {
				t.Errorf("%s: parameter %s is not well defined: %+v", d.Name, p.Name, p)
			}
		}
	}
}

func TestMake_KeepsToTheDefinition(t *testing.T) {
	eachVariant(t, func(t *testing.T, d Definition, _ []Setting, x Indicator) {
		for _, output := range x.Outputs() {
			if !slices.Contains(d.Outputs, output) {
				t.Errorf("output %s is not in the definition", output)
			}
		}
		if len(x.WarmUp()) != len(x.Outputs()) {
			t.Errorf("%d outputs have %d warm-ups", len(x.Outputs()), len(x.WarmUp()))
		}
		if x.Cost() <= 0 || x.Memory() <= 0 {
			t.Errorf("cost is %v and memory %v", x.Cost(), x.Memory())
		}
	})
}

func TestLookup_TakesNamesAndAliasesInAnyCase(t *testing.T) {
	for given, want := range map[string]string{
		"rsi": "rsi", "RSI": "rsi", "BBands": "bollingerbands", "BollingerBands": "bollingerbands",
		"SimpleMovingAverage": "sma", "exponentialmovingaverage": "ema", "WeightedMovingAverage": "wma",
	} {
		if d, ok := Lookup(given); !ok || d.Name != want {
			t.Errorf("Lookup(%q) is %q, want %q", given, d.Name, want)
		}
	}
	if d, ok := Lookup("nothing"); ok {
		t.Errorf("Lookup found %s", d.Name)
	}
}

func TestNearest_FindsTheSlipAndNothingElse(t *testing.T) {
	for given, want := range map[string]string{
		"rsii": "rsi", "RIS": "rsi", "stochastics": "stochastic", "bolinger_bands": "bollingerbands",
		"bband": "bollingerbands", "super_trend": "supertrend", "macdd": "macd", "donchian": "donchianchannels", "keltner": "keltnerchannels",
		"hypothalamus": "", "": "",
	} {
		if got := Nearest(given); got != want {
			t.Errorf("Nearest(%q) is %q, want %q", given, got, want)
		}
	}
}

func TestNew_RefusesWithASentenceThatHelps(t *testing.T) {
	for _, c := range []struct {
		situation, name string
		settings        []Setting
		want            string
	}{
		{"a misspelt name", "rsii", nil, `indicator "rsii" does not exist; did you mean rsi?`},
		{"an unknown name", "hypothalamus", nil, `indicator "hypothalamus" does not exist`},
		{"a misspelt parameter", "rsi", settings(set("perod", 9)), `indicator rsi has no parameter "perod"; did you mean period?`},
		{"half a parameter's name", "macd", settings(set("fast", 9)), `indicator macd has no parameter "fast"; did you mean fast_period?`},
		{"an unknown parameter", "cci", settings(set("xyzzy", 9)), `indicator cci has no parameter "xyzzy"; it takes period`},
		{"a parameter that it does not have", "obv", settings(set("period", 9)), `indicator obv has no parameter "period"; it takes none`},
		{"a parameter given twice", "rsi", settings(set("period", 9), set("period", 9)), `indicator rsi: parameter period is given twice`},
		{"too little", "rsi", settings(set("period", 1)), `indicator rsi: period is 1; it must be between 2 and 100`},
		{"too much", "sma", settings(set("period", 1e9)), `indicator sma: period is 1e+09; it must be between 2 and 500`},
		{"not a number", "sma", settings(set("period", math.NaN())), `indicator sma: period is NaN; it must be a whole number between 2 and 500`},
		{"a broken number", "sma", settings(set("period", 9.5)), `indicator sma: period is 9.5; it must be a whole number between 2 and 500`},
		{"text for a number", "sma", settings(choose("period", "ten")), `indicator sma: period is "ten"; it must be a number between 2 and 500`},
		{
			"a number for a choice", "sma", settings(set("source", 3)),
			`indicator sma: source is 3; it must be one of close, open, high, low, volume, hl2, hlc3, ohlc4`,
		},
		{
			"an unknown choice", "distancefromma", settings(choose("ma_type", "WMA")),
			`indicator distancefromma: ma_type is "WMA"; it must be one of SMA, EMA`,
		},
		{"a number for a boolean", "ema", settings(set("adjust", 1)), `indicator ema: adjust is 1; it must be true or false`},
		{
			"a fast mean that is slow", "macd", settings(set("fast_period", 26)),
			`indicator macd: fast_period is 26; it must be below slow_period, which is 26`,
		},
		{
			"a start above the limit", "parabolicsar", settings(set("initial_af", 0.1), set("max_af", 0.05)),
			`indicator parabolicsar: initial_af is 0.1; it must not be above max_af, which is 0.05`,
		},
	} {
		t.Run(c.situation, func(t *testing.T) {
			x, err := New(c.name, c.settings)
			if err == nil {
				t.Fatalf("it was taken and gives %v", x.Outputs())
			}
			if got := err.Error(); got != c.want {
				t.Errorf("it says\n  %s\nwant\n  %s", got, c.want)
			}
		})
	}
}

func TestNew_TakesWhatIsWrittenInAnotherCase(t *testing.T) {
	bars := randomBars(21, 100)
	got := compute(mustNew(t, "DistanceFromMA", choose("ma_type", "ema"), choose("source", "HL2")), bars)
	want := compute(mustNew(t, "distancefromma", choose("ma_type", "EMA"), choose("source", "hl2")), bars)
	wantSame(t, mustNew(t, "distancefromma"), got, want)
}

func TestOutputs_AreThereOnlyWhenAskedFor(t *testing.T) {
	bars := randomBars(22, 200)
	for _, c := range []struct {
		name, flag string
		without    []string
	}{
		{"aroon", "include_oscillator", []string{"up", "down"}},
		{"donchianchannels", "include_middle", []string{"upper", "lower"}},
	} {
		all, few := mustNew(t, c.name), mustNew(t, c.name, choose(c.flag, "false"))
		if !slices.Equal(few.Outputs(), c.without) {
			t.Errorf("%s has the outputs %v, want %v", c.name, few.Outputs(), c.without)
		}
		values, got := compute(all, bars), compute(few, bars)
		var want [][]float64
		for _, name := range c.without {
			want = append(want, values[slices.Index(all.Outputs(), name)])
		}
		wantSame(t, few, got, want)
	}
}

func TestDescribe_SaysItAllInJSON(t *testing.T) {
	for _, d := range Definitions() {
		if _, err := json.Marshal(Describe(d)); err != nil {
			t.Errorf("%s: %v", d.Name, err)
		}
	}
	d, _ := Lookup("distancefromma")
	got, err := json.Marshal(Describe(d))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"name":"distancefromma"`, `"follows":"reference"`,
		`{"name":"period","kind":"int","default":20,"min":1,"max":200,"description":"bars in the window"}`,
		`{"name":"ma_type","kind":"choice","default":"SMA","choices":["SMA","EMA"],"description":"kind of the moving average"}`,
		`"outputs":[{"name":"value","unit":"number","warm_up":19}]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("the description\n  %s\nlacks\n  %s", got, want)
		}
	}
}
