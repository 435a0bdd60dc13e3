package examine

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const small = `
name: small
version: "3.0"
training_data:
  symbols: {mode: single, symbol: EURUSD}
  timeframes: {mode: single, timeframe: 1h}
  history_required: 50
indicators:
  rsi_8: {type: rsi, period: 8}
fuzzy_sets: {}
nn_inputs:
  - {raw_indicator: rsi_8, timeframes: all, normalization: zscore}
model: {type: mlp, architecture: {hidden_layers: [6], dropout: 0}}
decisions: {output_format: classification, confidence_threshold: 0.34}
training:
  labels: {source: triple_barrier, max_holding_period: 12}
  epochs: 3
  batch_size: 128
  learning_rate: 0.01
backtest: {commission: 0.00001, slippage: 0.00001, spread: 0.00002, position_size: 1}
`

func smallInput(t testing.TB, bars int) Finalist { return inputOf(t, small, bars) }

func inputOf(t testing.TB, text string, bars int) Finalist {
	t.Helper()
	s, _, err := strategy.Parse([]byte(text), "small")
	if err != nil {
		t.Fatal(err)
	}
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: bars, Seed: 3, Edge: 0.3})
	return Finalist{Strategy: s, Bars: []train.Series{{Symbol: "EURUSD", Bars: []*market.Bars{b}}}, Seed: 11, Kernel: neural.Best()}
}

func prepared(t testing.TB, in Finalist) *Examination {
	t.Helper()
	x, refused, err := New(in)
	if err != nil || refused != nil {
		t.Fatalf("New: %v, %+v", err, refused)
	}
	return x
}

// The groups that each path takes from each split, written down by hand after López de
// Prado (2018), chapter 12.
var pathTable = [Groups][Paths]int{
	{0, 1, 2, 3, 4}, {0, 5, 6, 7, 8}, {1, 5, 9, 10, 11}, {2, 6, 9, 12, 13}, {3, 7, 10, 12, 14}, {4, 8, 11, 13, 14},
}

func TestPathOf_IsTheTableOfTheBook(t *testing.T) {
	if n := len(pairs()); n != Splits {
		t.Fatalf("%d splits, want %d", n, Splits)
	}
	for g, row := range pathTable {
		for path, split := range row {
			if !slices.Contains(pairs()[split][:], g) {
				t.Fatalf("split %d does not trade group %d", split, g)
			}
			if got := PathOf(split, g); got != path {
				t.Errorf("split %d, group %d: path %d, want %d", split, g, got, path)
			}
		}
	}
}

// plainFold is the samples that a fold leaves, found bar by bar.
func plainFold(t *testing.T, in Finalist, sealed func(bar int) bool, gap int) (training, validation []int32) {
	t.Helper()
	b := in.Bars[0].Bars[0]
	set, err := in.Strategy.Training.Labels.Labeler().Label(b)
	if err != nil {
		t.Fatal(err)
	}
	x, err := feature.Build(in.Strategy, in.Bars[0].Bars)
	if err != nil {
		t.Fatal(err)
	}
	first := 0
	for x.Row(first)[0] != x.Row(first)[0] {
		first++
	}
	var row, end []int
	for i := range set.Row {
		r, e := int(set.Row[i]), int(set.End[i])
		good := r >= in.Strategy.Data.History && r >= first
		for bar := range b.Len() {
			if !sealed(bar) {
				continue
			}
			reads := bar >= r-first && bar <= e
			near := bar > e && bar-e <= gap || bar < r && r-bar <= gap
			if reads || near {
				good = false
			}
		}
		if good {
			row, end = append(row, r), append(end, e)
		}
	}
	split := in.Strategy.Training.Split
	border := row[int(math.Round(float64(len(row))*split.Train/(split.Train+split.Validation)))]
	for i, r := range row {
		switch {
		case r >= border:
			validation = append(validation, int32(r))
		case end[i] < border-gap:
			training = append(training, int32(r))
		}
	}
	return training, validation
}

func TestFold_LeavesTheSamplesThatAPlainLoopLeaves(t *testing.T) {
	for _, period := range []string{"8", "40"} { // shorter and longer than the embargo
		t.Run("look-back "+period, func(t *testing.T) {
			checkFolds(t, inputOf(t, strings.Replace(small, "period: 8", "period: "+period, 1), 2000))
		})
	}
}

func checkFolds(t *testing.T, in Finalist) {
	x := prepared(t, in)
	b := in.Bars[0].Bars[0]
	var decides []int
	for i := range b.Len() {
		if i >= in.Strategy.Data.History {
			decides = append(decides, i)
		}
	}
	group := func(bar int) int { // -1 before the first
		g := -1
		for k := range Groups {
			if bar >= decides[k*len(decides)/Groups] {
				g = k
			}
		}
		return g
	}
	gap := int(0.01 * float64(b.Len()))
	folds := map[string]train.Fold{}
	sealed := map[string]func(int) bool{}
	for i, p := range pairs() {
		name := x.Name(i)
		folds[name], sealed[name] = x.main.splitFold(i), func(bar int) bool { return group(bar) == p[0] || group(bar) == p[1] }
	}
	for i := range Folds {
		name := x.Name(Splits + i)
		folds[name], sealed[name] = x.main.walkFold(i), func(bar int) bool { return group(bar) >= i+2 }
	}
	for name, f := range folds {
		ds, err := x.main.m.Fold(f)
		if err != nil {
			t.Fatal(err)
		}
		training, validation := plainFold(t, in, sealed[name], gap)
		if !slices.Equal(ds.Train, training) || !slices.Equal(ds.Validation, validation) {
			t.Errorf("%s: %d training and %d validation samples, want %d and %d", name, len(ds.Train), len(ds.Validation), len(training),
				len(validation))
		}
	}
}

func TestRun_FiguresAreThoseOfAPlainComputation(t *testing.T) {
	in := smallInput(t, 2000)
	x := prepared(t, in)
	units := make([]UnitResult, x.Units())
	for i := range units {
		var err error
		if units[i], err = x.Do(t.Context(), i); err != nil {
			t.Fatal(err)
		}
	}
	r, err := x.Result(units)
	if err != nil {
		t.Fatal(err)
	}
	b := in.Bars[0].Bars[0]
	hold := plainHold(x, b)
	perYear := float64(b.Len()-1) / float64(b.Time[b.Len()-1]-b.Time[0]) * 365.25 * 24 * 3600
	pooled := make([]float64, len(hold))
	for p := range Paths {
		var returns []float64
		for g := range Groups {
			for _, part := range units[pathTable[g][p]].Parts {
				if part.Group == g {
					returns = append(returns, part.Returns...)
				}
			}
		}
		for i, v := range returns {
			pooled[i] += v / 5
		}
		same(t, "Sharpe ratio of a path", r.Paths[p].Sharpe, plainSharpe(returns)*math.Sqrt(perYear))
	}
	z, alpha, alphaZ := plainZ(pooled), 0.0, 0.0
	alpha, alphaZ = plainAlpha(pooled, hold)
	same(t, "pooled Sharpe ratio", r.Pooled.Sharpe, plainSharpe(pooled)*math.Sqrt(perYear))
	same(t, "pooled z", r.Pooled.SharpeZ, z)
	same(t, "pooled alpha", r.Pooled.Alpha, alpha)
	same(t, "pooled z of alpha", r.Pooled.AlphaZ, alphaZ)
	same(t, "score", r.Score, min(z, alphaZ))
	if r.Pooled.Trades < 50 {
		t.Errorf("%d trades: the test has seen little", r.Pooled.Trades)
	}
}

// plainHold buys at the first open of each group that can be had and sells at its last close.
func plainHold(x *Examination, b *market.Bars) (returns []float64) {
	cfg := x.in.Strategy.Backtest
	side := cfg.Slippage + cfg.Spread/2
	for _, w := range x.main.windows {
		var at []int
		for i, when := range b.Time {
			if when >= w.From && when < w.To {
				at = append(at, i)
			}
		}
		value := b.Open[at[1]] * (1 + side) * (1 + cfg.Commission)
		for k, i := range at[1:] {
			now := b.Close[i]
			if k == len(at)-2 {
				now = now * (1 - side) * (1 - cfg.Commission)
			}
			returns = append(returns, now/value-1)
			value = b.Close[i]
		}
	}
	return returns
}

func same(t *testing.T, what string, got *float64, want float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= 1e-9*max(1, math.Abs(want))) {
		t.Errorf("%s: %v, want %v", what, show(got), want)
	}
}

func show(x *float64) any {
	if x == nil {
		return "nothing"
	}
	return *x
}

func plainMean(x []float64) (sum float64) {
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

func plainMoment(x []float64, power float64) (sum float64) {
	for _, v := range x {
		sum += math.Pow(v-plainMean(x), power)
	}
	return sum
}

func plainSharpe(x []float64) float64 {
	return plainMean(x) / math.Sqrt(plainMoment(x, 2)/float64(len(x)-1))
}

// plainLongRun is Newey and West's ratio of variances with Bartlett weights.
func plainLongRun(x []float64) float64 {
	n, mean := len(x), plainMean(x)
	lags := int(4 * math.Pow(float64(n)/100, 2.0/9))
	ratio, variance := 1.0, plainMoment(x, 2)
	for k := 1; k <= lags; k++ {
		cross := 0.0
		for i := k; i < n; i++ {
			cross += (x[i] - mean) * (x[i-k] - mean)
		}
		ratio += 2 * (1 - float64(k)/float64(lags+1)) * cross / variance
	}
	return ratio
}

// plainZ is the Sharpe ratio over Mertens' error, not below that of independent normal returns.
func plainZ(x []float64) float64 {
	n, sr := float64(len(x)), plainSharpe(x)
	variance := plainMoment(x, 2) / n
	skew, kurtosis := plainMoment(x, 3)/n/math.Pow(variance, 1.5), plainMoment(x, 4)/n/variance/variance
	wide := max(plainLongRun(x), 1)
	mertens := math.Sqrt((1 - skew*sr + (kurtosis-1)/4*sr*sr) / (n - 1) * wide)
	return sr / max(mertens, math.Sqrt(wide/(n-1)))
}

// plainAlpha is the intercept of a least-squares line, and its z-value.
func plainAlpha(y, x []float64) (alpha, z float64) {
	n, mx, my := float64(len(x)), plainMean(x), plainMean(y)
	var xx, xy float64
	for i := range x {
		xx += (x[i] - mx) * (x[i] - mx)
		xy += (x[i] - mx) * (y[i] - my)
	}
	beta := xy / xx
	alpha = my - beta*mx
	left, ss := make([]float64, len(x)), 0.0
	for i := range x {
		left[i] = y[i] - alpha - beta*x[i]
		ss += left[i] * left[i]
	}
	e := math.Sqrt(ss/(n-2)) * math.Sqrt(1/n+mx*mx/xx) * math.Sqrt(max(plainLongRun(left), 1))
	return alpha, alpha / e
}

func TestRun_UnitsInAnyOrderAndThroughStorageGiveTheSameResult(t *testing.T) {
	in := smallInput(t, 2000)
	in.Workers = 2
	want, err := Run(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	x := prepared(t, in)
	units := make([]UnitResult, x.Units())
	for i := range slices.Backward(units) {
		u, err := x.Do(t.Context(), i)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(u)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &units[i]); err != nil {
			t.Fatal(err)
		}
	}
	got, err := x.Result(units)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := json.Marshal(want)
	b, _ := json.Marshal(got)
	if string(a) != string(b) {
		t.Errorf("the result is\n%s\nand was\n%s", b, a)
	}
	in.ScoreOnly = true
	score, err := Run(t.Context(), in)
	if err != nil || score.Score == nil || *score.Score != *want.Score {
		t.Errorf("the score alone is %v, %v; want %v", show(score.Score), err, show(want.Score))
	}
}

func TestRun_SaysThatThereAreTooFewBars(t *testing.T) {
	r, err := Run(t.Context(), smallInput(t, 600))
	if err != nil || r.State != "too_few_bars" || r.Undefined == "" || r.State.Refuses() {
		t.Errorf("%+v, %v", r, err)
	}
}
