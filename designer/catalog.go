package designer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/market"
)

// Family is an idea of how a market can be read.
type Family string

// The families.
const (
	Reversion  Family = "mean reversion"
	Trend      Family = "trend"
	Momentum   Family = "momentum"
	Breakout   Family = "breakout"
	Volatility Family = "volatility"
	Volume     Family = "volume"
	Calendar   Family = "calendar"
	LeadLag    Family = "lead-lag" // what a context symbol does comes to the one that is traded
)

// Families lists them all.
var Families = []Family{Reversion, Trend, Momentum, Breakout, Volatility, Volume, Calendar, LeadLag}

// reading is one output of an indicator that can be compared over the years,
// whatever the price has become since.
type reading struct {
	name      string // in genomes, and of the indicator and the fuzzy set in a strategy
	indicator string
	output    string // "" where there is one
	family    Family
	raw       bool // in the unit of the price: no quantile of it holds for long, so it is never made fuzzy
	settings  func(period int) []setting
	clock     *clock // nil but for the calendar
}

type setting struct{ name, value string }

func period(n int) []setting { return []setting{{"period", strconv.Itoa(n)}} }

func integer(name string, n int) setting { return setting{name, strconv.Itoa(n)} }

// periods are the windows that designs use: a step is a change that can matter.
var periods = []int{5, 8, 12, 16, 24, 36, 48, 64, 96}

var readings = []reading{
	{"adx", "adx", "adx", Trend, false, period, nil},
	{"aroon", "aroon", "oscillator", Trend, false, period, nil},
	{"atr", "atr", "", Volatility, true, period, nil},
	{"bandwidth", "bollingerbandwidth", "", Volatility, false, period, nil},
	{"cci", "cci", "", Reversion, false, period, nil},
	{"cmf", "cmf", "cmf", Volume, false, period, nil},
	{"distance", "distancefromma", "", Reversion, false, period, nil},
	{"ema_distance", "distancefromma", "", Trend, false, func(n int) []setting {
		return []setting{integer("period", n), {"ma_type", "EMA"}}
	}, nil},
	{"fisher", "fishertransform", "fisher", Reversion, false, period, nil},
	{"hour", "hour", "hour", Calendar, false, nil, &clock{around: []string{"sin", "cos"}, values: hours}},
	{"macd", "macd", "histogram", Momentum, true, func(n int) []setting {
		return []setting{integer("fast_period", n/2), integer("slow_period", n), integer("signal_period", max(2, n/3))}
	}, nil},
	{"mfi", "mfi", "", Volume, false, period, nil},
	{"minus_di", "adx", "minus_di", Trend, false, period, nil},
	{"momentum", "momentum", "", Momentum, true, period, nil},
	{"plus_di", "adx", "plus_di", Trend, false, period, nil},
	{"roc", "roc", "", Momentum, false, period, nil},
	{"rsi", "rsi", "", Reversion, false, period, nil},
	{"rvi", "rvi", "rvi", Momentum, false, period, nil},
	{"session", "session", "asia", Calendar, false, nil, &clock{around: []string{"asia", "london", "newyork"}}},
	{"since_open", "barssinceopen", "", Calendar, false, func(n int) []setting { return []setting{integer("most", n)} }, nil},
	{"squeeze", "squeezeintensity", "", Breakout, false, func(n int) []setting {
		return []setting{integer("bb_period", n), integer("kc_period", n)}
	}, nil},
	{"stochastic", "stochastic", "k", Reversion, false, func(n int) []setting { return []setting{integer("k_period", n)} }, nil},
	{"supertrend", "supertrend", "direction", Trend, false, period, nil},
	{"volume_ratio", "volumeratio", "", Volume, false, period, nil},
	{"weekday", "weekday", "weekday", Calendar, false, nil, &clock{around: []string{"sin", "cos"}, values: days}},
	{"williams", "williamsr", "", Breakout, false, period, nil},
}

// standIns are indicators in the unit of the price or volume and, for each,
// the readings that say the same on a scale that lasts.
var standIns = map[string][]string{
	"adline":           {"cmf"},
	"adx":              {"adx", "plus_di", "minus_di"},
	"bollingerbands":   {"bandwidth", "distance"},
	"donchianchannels": {"williams"},
	"ema":              {"ema_distance"},
	"ichimoku":         {"williams", "ema_distance"},
	"keltnerchannels":  {"distance", "squeeze"},
	"obv":              {"cmf", "volume_ratio"},
	"parabolicsar":     {"supertrend"},
	"sma":              {"distance"},
	"vwap":             {"distance", "mfi"},
	"wma":              {"distance"},
	"zigzag":           {"aroon"},
}

// readingsOf are the readings that stand for an indicator of the registry.
func readingsOf(name string) []string {
	if list, ok := standIns[name]; ok {
		return list
	}
	for _, r := range readings {
		if r.indicator == name {
			return []string{r.name}
		}
	}
	return nil
}

func find(name string) (reading, bool) {
	i, ok := slices.BinarySearchFunc(readings, name, func(r reading, name string) int { return strings.Compare(r.name, name) })
	if !ok {
		i = slices.IndexFunc(leadReadings, func(r reading) bool { return r.name == name })
		if i < 0 {
			return reading{}, false
		}
		return leadReadings[i], true
	}
	return readings[i], true
}

// set are the parameters of its indicator for a window.
func (r reading) set(period int) []setting {
	if r.settings == nil {
		return nil
	}
	return r.settings(period)
}

// windows are those that it can have: one, of no bars, where it has none.
func (r reading) windows() []int {
	if r.clock != nil {
		return []int{0}
	}
	return periods
}

// window is the one of a reading that is the closest to a wished one.
func (r reading) window(wished int) int { return nearest(r.windows(), wished) }

// build makes the indicator itself, and says which of its outputs is meant.
func (r reading) build(period int) (indicator.Indicator, int, error) {
	var list []indicator.Setting
	for _, s := range r.set(period) {
		x, err := strconv.ParseFloat(s.value, 64)
		list = append(list, indicator.Setting{Name: s.name, Number: x, Text: s.value, IsText: err != nil})
	}
	ind, err := indicator.New(r.indicator, list)
	if err != nil {
		return nil, 0, err
	}
	return ind, max(0, slices.Index(ind.Outputs(), r.output)), nil
}

// values are those of a window of the reading at each bar.
func (r reading) values(period int, b *market.Bars) ([]float64, error) {
	ind, k, err := r.build(period)
	if err != nil {
		return nil, fmt.Errorf("indicator %s of period %d: %w", r.name, period, err)
	}
	out := make([][]float64, len(ind.Outputs()))
	for i := range out {
		out[i] = make([]float64, b.Len())
	}
	ind.Compute(b, out)
	return out[k], nil
}

// nearest is the value of a ladder that is the closest to x; the lower of two.
func nearest[T int | float64](ladder []T, x T) T {
	best := ladder[0]
	for _, v := range ladder[1:] {
		if max(v-x, x-v) < max(best-x, x-best) {
			best = v
		}
	}
	return best
}
