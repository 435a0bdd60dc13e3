package indicator

import (
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "macd",
	Params: []Param{
		length("fast_period", 12, 1, 100, "bars of the fast mean"),
		length("slow_period", 26, 2, 200, "bars of the slow mean"),
		length("signal_period", 9, 1, 50, "bars of the signal's mean"),
		sourceParam,
	},
	Outputs: []string{"line", "signal", "histogram"}, Units: []Unit{InPrice, InPrice, InPrice},
	Doc: "Moving average convergence divergence: fast less slow exponential mean, its own exponential mean as the signal, " +
		"and the difference. Both means begin at the bar slow_period-1, each with the simple mean of the values " +
		"of its length that end there; all outputs begin with the signal.",
	Follows: "TA-Lib",
	Check: func(a Args) error {
		if fast, slow := a.Int("fast_period"), a.Int("slow_period"); fast >= slow {
			return fmt.Errorf("fast_period is %d; it must be below slow_period, which is %d", fast, slow)
		}
		return nil
	},
	build: makeMACD,
})

func makeMACD(a Args) built {
	fast, slow, signal, source := a.Int("fast_period"), a.Int("slow_period"), a.Int("signal_period"), a.Source()
	first := slow + signal - 2
	return built{
		warm: []int{first, first, first}, reads: source.reads(), cost: 3, memory: 24,
		start: func() machine {
			m := macd{
				source: source, fast: newEMA(fast, slow-fast), slow: newEMA(slow, 0), signal: newEMA(signal, slow-1),
			}
			return m.run
		},
	}
}

type macd struct {
	source             Source
	room               scratch
	fast, slow, signal ema
}

// run moves the three means in one loop: each waits for itself only, so that
// together they take hardly longer than one.
func (m *macd) run(in *market.Bars, out [][]float64) {
	x := m.source.of(in, &m.room)
	line, signal, histogram := out[0][:len(x)], out[1][:len(x)], out[2][:len(x)]
	i := 0
	for ; i < len(x) && !m.signal.begun(); i++ {
		line[i] = m.fast.next(x[i]) - m.slow.next(x[i])
		signal[i] = m.signal.next(line[i])
		histogram[i] = line[i] - signal[i]
		if !m.signal.begun() {
			line[i] = math.NaN()
		}
	}
	f, s, g := m.fast.value, m.slow.value, m.signal.value
	for ; i < len(x); i++ {
		v := x[i]
		f = float64(m.fast.far*f) + float64(m.fast.near*v)
		s = float64(m.slow.far*s) + float64(m.slow.near*v)
		d := f - s
		g = float64(m.signal.far*g) + float64(m.signal.near*d)
		line[i], signal[i], histogram[i] = d, g, d-g
	}
	m.fast.value, m.slow.value, m.signal.value = f, s, g
}
