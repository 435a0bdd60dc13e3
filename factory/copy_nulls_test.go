package factory_test

import (
	"math"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worlds"
)

// feature is something that bars have and copies keep or break. Its strength in bars that
// lack it is about 0.
type feature struct {
	row      string // of the table in docs/research.md
	name     string
	across   bool // weeks, where the row says both
	bars     []*market.Bars
	strength func(series []*market.Bars) float64
}

const manyBars = 60_000 // 500 weeks

// features are all rows of the table. Each world has its feature strongly.
func features() []feature {
	world := func(name string) []*market.Bars {
		for _, w := range worlds.Worlds {
			if w.Name == name {
				return []*market.Bars{w.Make("EURUSD", manyBars, 3)}
			}
		}
		panic("there is no world " + name)
	}
	leader := hourly("LEADER", manyBars, func(r *num.Rand, _ int) float64 { return r.Norm() })
	led := moves(leader)
	follower := hourly("FOLLOWER", manyBars, func(r *num.Rand, i int) float64 {
		if i < 2 {
			return r.Norm()
		}
		return 0.5*led[i-2]/unit + r.Norm() // bar i-1 of the leader
	})
	twin := hourly("TWIN", manyBars, func(r *num.Rand, i int) float64 { return led[max(i, 1)-1]/unit + r.Norm() })
	last := 0.0
	reverting := hourly("EURUSD", manyBars, func(r *num.Rand, _ int) float64 {
		last = r.Norm() - 0.3*last
		return last
	})
	trend := 0.0
	trending := hourly("EURUSD", manyBars, func(r *num.Rand, i int) float64 {
		if i%barsOfWeek == 0 {
			trend = 0.9*trend + 0.1*r.Norm()
		}
		return r.Norm() + trend
	})
	busy := hourly("EURUSD", manyBars, func(r *num.Rand, _ int) float64 { return r.Norm() })
	for i, x := range moves(busy) {
		busy.Volume[i+1] = 1e6 * math.Abs(x)
	}
	return []feature{
		{"fat tails", "kurtosis", false, world("jumps"), func(s []*market.Bars) float64 { return moment(moves(s[0]), 4) - 3 }},
		{"volatility clustering", "sizes of moves 1 to 5 hours apart", false, world("GARCH-t"), func(s []*market.Bars) float64 {
			return together(sizes(moves(s[0])), sizes(moves(s[0])), 5)
		}},
		{"volatility clustering", "sizes of weeks, one after the other", true, world("regimes of variance"), func(s []*market.Bars) float64 {
			return together(weekly(sizes(moves(s[0]))), weekly(sizes(moves(s[0]))), 1)
		}},
		{
			"hour-of-day and day-of-week volatility", "hours of the week", false, world("U-shaped volatility with weekend gaps"),
			func(s []*market.Bars) float64 { return hoursDiffer(s[0]) },
		},
		{"gaps", "gap on Monday", false, world("U-shaped volatility with weekend gaps"), func(s []*market.Bars) float64 {
			return gapOnMonday(s[0])
		}},
		{"volume of a bar", "with the size of its move", false, []*market.Bars{busy}, func(s []*market.Bars) float64 {
			return correlation(s[0].Volume[1:], sizes(moves(s[0])))
		}},
		{"symbols at the same time", "correlation", false, []*market.Bars{leader, twin}, func(s []*market.Bars) float64 {
			return correlation(moves(s[0]), moves(s[1]))
		}},
		{"drift, skew", "drift", false, world("drift"), func(s []*market.Bars) float64 {
			return mean(moves(s[0])) / math.Sqrt(mean(product(moves(s[0]), moves(s[0]))))
		}},
		{
			"drift, skew", "skew", false,
			[]*market.Bars{hourly("EURUSD", manyBars, func(r *num.Rand, _ int) float64 { return -math.Log(1-r.Float64()) - 1 })},
			func(s []*market.Bars) float64 { return moment(moves(s[0]), 3) },
		},
		{"leverage effect", "a move and the sizes of the 5 after it", false, world("EGARCH with leverage"), func(s []*market.Bars) float64 {
			return together(moves(s[0]), sizes(moves(s[0])), 5)
		}},
		{"lead-lag of symbols", "a move and that of the other after it", false, []*market.Bars{leader, follower}, func(s []*market.Bars) float64 {
			return together(moves(s[0]), moves(s[1]), 1)
		}},
		{
			"a rule of direction that lasts less than a week", "a move and the next", false,
			[]*market.Bars{reverting},
			func(s []*market.Bars) float64 { return together(moves(s[0]), moves(s[0]), 1) },
		},
		{"a rule of direction that lasts longer", "a week and the next", false, []*market.Bars{trending}, func(s []*market.Bars) float64 {
			return together(weekly(moves(s[0])), weekly(moves(s[0])), 1)
		}},
	}
}

// What docs/research.md says that each null keeps and breaks is what copies keep and break.
func TestCopy_KeepsAndBreaksWhatTheDocumentationSays(t *testing.T) {
	table := nullTable(t)
	rows := map[string]bool{}
	for _, f := range features() {
		said := ""
		for row := range table {
			if strings.HasPrefix(row, f.row) {
				said, rows[row] = row, true
			}
		}
		if said == "" {
			t.Errorf("docs/research.md has no row %q", f.row)
			continue
		}
		has := f.strength(f.bars)
		for i, null := range research.Nulls {
			copies := 0.0
			const seeds = 6
			for seed := range uint64(seeds) {
				copies += f.strength(copied(t, null, seed, f.bars...)) / seeds
			}
			want := saidOf(table[said][i], f.across)
			got := "neither"
			switch share := copies / has; {
			case math.Abs(share-1) < 0.2:
				got = "kept"
			case math.Abs(share) < 0.2:
				got = "broken"
			}
			t.Logf("%-40s %-40s %-7s %8.4f, in copies %8.4f: %s", f.row, f.name, null, has, copies, got)
			if got != want {
				t.Errorf("%s (%s): %.4f, and in copies of null %s %.4f: that is %s, and docs/research.md says %q", f.row, f.name, has, null, copies,
					got, table[said][i])
			}
		}
	}
	for row := range table {
		if !rows[row] {
			t.Errorf("nothing measures the row %q of docs/research.md", row)
		}
	}
}

// nullTable is what docs/research.md says of each feature, for all nulls in their order.
func nullTable(t *testing.T) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../docs/research.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "### What each null keeps and breaks\n")
	_, rest, _ = strings.Cut(rest, "| a copy is made by |")
	table := map[string][]string{}
	for _, line := range strings.Split(rest, "\n")[1:] {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		if len(cells) != 1+len(research.Nulls) {
			break
		}
		table[cells[0]] = cells[1:]
	}
	if len(table) == 0 {
		t.Fatal("docs/research.md has no table of nulls")
	}
	return table
}

// saidOf is whether a cell says kept or broken. across asks about weeks.
func saidOf(cell string, across bool) string {
	switch {
	case across && strings.Contains(cell, "broken across weeks"):
		return "broken"
	case strings.Contains(cell, "kept") || strings.Contains(cell, "moves with its bar"):
		return "kept"
	}
	return strings.Trim(cell, "*")
}

// Blocks change the order of the moves and nothing else: the last close is the same. The
// first bar moves with its week.
func TestCopy_BlocksChangeTheOrderOnly(t *testing.T) {
	b := worlds.Worlds[3].Make("EURUSD", manyBars/10, 3)
	all := func(c *market.Bars) []float64 {
		x := append([]float64{math.Log(c.Close[0] / b.Open[0])}, moves(c)...)
		slices.Sort(x)
		return x
	}
	stays := 0
	for seed := range uint64(5) {
		c := copied(t, research.Blocks, seed, b)[0]
		was, is := all(b), all(c)
		for i := range was {
			if math.Abs(was[i]-is[i]) > 1e-12 {
				t.Fatalf("copy %d: move %d by size is %v, was %v", seed, i, is[i], was[i])
			}
		}
		if last := b.Len() - 1; math.Abs(c.Close[last]/b.Close[last]-1) > 1e-9 || slices.Equal(moves(b), moves(c)) {
			t.Errorf("copy %d ends at %v, the bars at %v", seed, c.Close[last], b.Close[last])
		}
		if c.Close[0] == b.Close[0] {
			stays++
		}
		if f := copied(t, research.Flips, seed, b)[0]; f.At(0) != b.At(0) {
			t.Errorf("flips changed the first bar: %+v, was %+v", f.At(0), b.At(0))
		}
	}
	if stays == 5 {
		t.Error("the first bar is the same in 5 copies by blocks")
	}
}

// A block of 20 days is 4 weeks of a market that trades on 5 days, if no day is missing. Of
// other weeks the days are mixed.
func TestCopy_BlocksOfDaysKeepTheDayOfTheWeekOfFiveDaysOnly(t *testing.T) {
	for _, c := range []struct {
		what string
		kept bool
		day  func(i int) int64 // of bar i, since Monday, 5 January 2015
	}{
		{"5 days a week", true, func(i int) int64 { return int64(i/5*7 + i%5) }},
		{"7 days a week", false, func(i int) int64 { return int64(i) }},
		{"5 days a week, one in 50 missing", false, func(i int) int64 { i += i / 49; return int64(i/5*7 + i%5) }},
	} {
		monday := func(i int) bool { return c.day(i)%7 == 0 }
		b := barsOf("EURUSD", market.D1, 4000, func(r *num.Rand, i int) float64 {
			if monday(i) {
				return 3 * r.Norm()
			}
			return r.Norm()
		}, func(i int) int64 { return time.Date(2015, 1, 5+int(c.day(i)), 0, 0, 0, 0, time.UTC).Unix() })
		has, copies := hoursDiffer(b), 0.0
		for seed := range uint64(6) {
			copies += hoursDiffer(copied(t, research.Blocks, seed, b)[0]) / 6
		}
		if share := copies / has; c.kept && math.Abs(share-1) > 0.1 || !c.kept && share > 0.35 {
			t.Errorf("%s: the days of the week differ by %.3f, in copies by %.3f", c.what, has, copies)
		} else {
			t.Logf("%s: the days of the week differ by %.3f, in copies by %.3f", c.what, has, copies)
		}
	}
}

const (
	unit       = 0.001 // volatility of a bar
	barsOfWeek = 5 * 24
)

// hourly makes bars from Monday to Friday of moves in units of volatility.
func hourly(symbol string, bars int, move func(r *num.Rand, i int) float64) *market.Bars {
	return barsOf(symbol, market.H1, bars, move, func(i int) int64 {
		return time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC).Unix() + int64(i/barsOfWeek*7*24+i%barsOfWeek)*3600
	})
}

func barsOf(symbol string, tf market.Timeframe, bars int, move func(r *num.Rand, i int) float64, at func(i int) int64) *market.Bars {
	r := num.NewRand(num.Mix(9, uint64(len(symbol)), uint64(symbol[0])))
	b := &market.Bars{Symbol: symbol, Timeframe: tf}
	last := 1.0
	for i := range bars {
		next := last * math.Exp(unit*move(r, i))
		b.Append(market.Bar{Time: at(i), Open: last, High: max(last, next), Low: min(last, next), Close: next, Volume: 100})
		last = next
	}
	return b
}

func mean(x []float64) (m float64) {
	for _, v := range x {
		m += v / float64(len(x))
	}
	return m
}

func product(x, y []float64) []float64 {
	z := make([]float64, len(x))
	for i := range x {
		z[i] = x[i] * y[i]
	}
	return z
}

func sizes(x []float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = math.Abs(v)
	}
	return y
}

// moment is a central moment, in standard deviations.
func moment(x []float64, k float64) float64 {
	m, sum, squares := mean(x), 0.0, 0.0
	for _, v := range x {
		sum += math.Pow(v-m, k) / float64(len(x))
		squares += (v - m) * (v - m) / float64(len(x))
	}
	return sum / math.Pow(squares, k/2)
}

func correlation(x, y []float64) float64 {
	mx, my := mean(x), mean(y)
	var xy, xx, yy float64
	for i := range x {
		xy, xx, yy = xy+(x[i]-mx)*(y[i]-my), xx+(x[i]-mx)*(x[i]-mx), yy+(y[i]-my)*(y[i]-my)
	}
	return xy / math.Sqrt(xx*yy)
}

// together is the mean correlation of x with y later, up to a lag.
func together(x, y []float64, most int) (sum float64) {
	for lag := 1; lag <= most; lag++ {
		sum += correlation(x[:len(x)-lag], y[lag:]) / float64(most)
	}
	return sum
}

// weekly are the means of weeks of moves, which begin with the second bar.
func weekly(x []float64) (w []float64) {
	for i := barsOfWeek - 1; i+barsOfWeek <= len(x); i += barsOfWeek {
		w = append(w, mean(x[i:i+barsOfWeek]))
	}
	return w
}

// hoursDiffer is the standard deviation of the sizes of moves over the hours of the week,
// as a share of their mean.
func hoursDiffer(b *market.Bars) float64 {
	var sum, n [7 * 24]float64
	for i, x := range sizes(moves(b)) {
		at := time.Unix(b.Time[i+1], 0).UTC()
		h := int(at.Weekday())*24 + at.Hour()
		sum[h], n[h] = sum[h]+x, n[h]+1
	}
	var each []float64
	for h := range sum {
		if n[h] > 0 {
			each = append(each, sum[h]/n[h])
		}
	}
	m := mean(each)
	return math.Sqrt(mean(product(each, each))-m*m) / m
}

// gapOnMonday is the mean gap of the bars after a weekend.
func gapOnMonday(b *market.Bars) float64 {
	var gaps []float64
	for i := 1; i < b.Len(); i++ {
		if b.Time[i]-b.Time[i-1] > 24*3600 {
			gaps = append(gaps, math.Abs(math.Log(b.Open[i]/b.Close[i-1])))
		}
	}
	return mean(gaps)
}
