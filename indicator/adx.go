package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

var _ = register(Definition{
	Name: "adx", Params: []Param{period(14, 2, 200)},
	Outputs: []string{"adx", "plus_di", "minus_di"}, Units: []Unit{Pure, Pure, Pure},
	Doc: "Average directional index with its directional indicators. True range and the larger of the moves up and down " +
		"are Wilder sums begun with the plain sums of the first period-1; plus_di and minus_di are those of the moves " +
		"in percent of that of the range, 0 without any range. adx is Wilder's mean of 100*|plus-minus|/(plus+minus), " +
		"begun with a plain mean of period values; a bar on which neither has moved counts 0 there and leaves adx as it is later.",
	Follows: "TA-Lib", build: makeADX,
})

func makeADX(a Args) built {
	p := a.Int("period")
	return built{
		warm: []int{2*p - 1, p, p}, reads: highs | lows | closes, cost: 15, memory: 16,
		start: func() machine {
			share := 1 / float64(p)
			return (&adx{seeds: p, index: newWilder(p), keep: 1 - share, high: math.NaN()}).run
		},
	}
}

type adx struct {
	high, low, close  float64 // of the bar before
	reach, plus, less float64 // Wilder sums: true range, moves up, moves down
	keep              float64 // what a sum keeps of itself from bar to bar
	seeds             int     // bars whose moves are only added up
	index             ema
}

func (x *adx) run(in *market.Bars, out [][]float64) {
	n := in.Len()
	h, l, c := in.High[:n], in.Low[:n], in.Close[:n]
	index, plus, less := out[0][:n], out[1][:n], out[2][:n]
	i := 0
	for ; i < n && x.seeds > 0; i++ { // the bars 0 to period-1
		x.seed(h[i], l[i], c[i])
		index[i], plus[i], less[i] = math.NaN(), math.NaN(), math.NaN()
	}
	for ; i < n && !x.index.begun(); i++ {
		plus[i], less[i] = x.move(h[i], l[i], c[i])
		index[i] = x.index.next(spread(x.plus, x.less))
	}
	last := *x // a local copy, so that it need not be kept in memory
	value := last.index.value
	for ; i < n; i++ {
		plus[i], less[i] = last.move(h[i], l[i], c[i])
		if last.plus+last.less != 0 {
			value = float64(last.index.far*value) + float64(last.index.near*spread(last.plus, last.less))
		}
		index[i] = value
	}
	last.index.value = value
	*x = last
}

// seed takes one of the bars whose moves are only added up.
func (x *adx) seed(high, low, price float64) {
	if x.high == x.high { // the first bar has not moved
		up, down := moves(high-x.high, x.low-low)
		x.reach += reach(high, low, x.close)
		x.plus += up
		x.less += down
	}
	x.seeds--
	x.high, x.low, x.close = high, low, price
}

// move takes a bar and returns its directional indicators.
func (x *adx) move(high, low, price float64) (plus, less float64) {
	up, down := moves(high-x.high, x.low-low)
	x.reach = float64(x.reach*x.keep) + reach(high, low, x.close)
	x.plus = float64(x.plus*x.keep) + up
	x.less = float64(x.less*x.keep) + down
	x.high, x.low, x.close = high, low, price
	if x.reach < leastSum { // the moves are parts of the range
		x.reach, x.plus, x.less = 0, 0, 0
	}
	if x.plus+x.less < leastSum {
		x.plus, x.less = 0, 0
	}
	if x.reach == 0 {
		return 0, 0
	}
	return 100 * x.plus / x.reach, 100 * x.less / x.reach
}

// spread is how far apart the moves are, in percent of both; 0 without any.
func spread(ups, downs float64) float64 {
	if ups+downs == 0 {
		return 0
	}
	return 100 * math.Abs(ups-downs) / (ups + downs)
}

// moves keeps the larger of a bar's moves up and down if it is one; of equal moves neither.
func moves(up, down float64) (float64, float64) {
	return keep(up, up > max(down, 0)), keep(down, down > max(up, 0))
}
