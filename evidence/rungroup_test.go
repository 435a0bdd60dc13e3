package evidence

import (
	"fmt"
	"math"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// runGroup is all the research of some runs on one market. The market has no
// edge on its holdout.
//
//	25 runs of 8:  run ─▶ generation of 8 ─▶ finalists ─▶ the best gets one look
//	200 runs of 1: the same with generations of 1
//
// A run goes through four steps. With several runs at once the steps of one come
// between those of another.
//
//	created (trials counted) ─▶ judged ─▶ look reserved ─▶ confirmed
type runGroup struct {
	runs, size int
	parallel   int  // runs at once; 0 means 1
	renamed    bool // every run imports the market under another name and in another form
	died       bool // the test part has an edge which ends there; else a search climbs the test part

	// Faults of a ledger, each of which must be seen to claim too much.
	byName bool // a market is its name
	stale  bool // a look's number is read when its run is created, and not reserved
}

const (
	testBars    = 600 // bars of the test part
	holdoutBars = 400 // bars of the holdout
	sideBars    = 10  // bars for which a strategy keeps its side
)

// looks are the confirmations of a group, in the order in which they end.
func (w runGroup) looks(r *num.Rand) []Confirmation {
	n := singleRun{test: testBars, holdout: holdoutBars}
	moves, _ := n.world(r)
	s := search{runGroup: w, rand: r, base: seriesOf(moves), ledger: ledger{byName: w.byName}}
	slots := make([]*groupRun, max(w.parallel, 1))
	for created, ended := 0, 0; ended < w.runs; {
		slot := &slots[r.Uint64n(uint64(len(slots)))]
		switch {
		case *slot == nil && created < w.runs:
			*slot = s.create(created)
			created++
		case *slot != nil && (*slot).advance(&s):
			*slot = nil
			ended++
		}
	}
	return s.confirmed
}

// search is a group in progress.
type search struct {
	runGroup
	rand      *num.Rand
	base      series
	ledger    ledger
	best      climber // of all runs that were judged
	confirmed []Confirmation
}

// groupRun is one run of a group.
type groupRun struct {
	test, holdout series
	market        *ledgerMarket
	trials        int
	parent        climber
	finalist      bool
	reserved      bool
	before        int
}

func (s *search) create(number int) *groupRun {
	imported := s.base
	if s.renamed {
		imported = s.base.renamed(number)
	}
	m := s.ledger.market(imported)
	run := &groupRun{market: m, parent: s.best, trials: m.trials + s.size, before: m.looks}
	run.test, run.holdout = imported.split(testBars)
	m.trials += s.size
	return run
}

// advance makes the next step of a run and says whether it has ended.
func (run *groupRun) advance(s *search) bool {
	switch {
	case run.trials > 0:
		run.judge(s)
		run.trials = 0
		return !run.finalist
	case !run.reserved:
		if !s.stale {
			run.before = run.market.looks
		}
		run.reserved = true
		run.market.looks++
		return false
	}
	sides := climber{}.child(testBars+holdoutBars, s.rand)
	s.confirmed = append(s.confirmed, Confirm(sides.trade(run.holdout, 0), run.before, Rules{}))
	return true
}

// judge makes the trials of a run. The holdout of its best finalist is random
// whichever that is, so only its existence matters.
func (run *groupRun) judge(s *search) {
	edge := 0.0
	if s.died {
		edge = 0.3
	}
	for range s.size {
		child := run.parent.child(testBars, s.rand)
		v := Judge(Case{Test: child.trade(run.test, edge), InSample: &goodInside, Trials: run.trials}, Rules{})
		run.finalist = run.finalist || v.Finalist
		if child.reached = *v.Figures.SharpeZ; !s.died && child.reached > s.best.reached {
			s.best = child
		}
	}
}

// series is a market as it was imported.
type series struct {
	symbol  string
	times   []int // numbers of bars
	prices  []float64
	inverse bool // quoted the other way round
}

func seriesOf(moves []float64) series {
	s := series{symbol: "MARKET", times: make([]int, len(moves)+1), prices: make([]float64, len(moves)+1)}
	s.prices[0] = 1
	for i, m := range moves {
		s.times[i+1], s.prices[i+1] = i+1, s.prices[i]*math.Exp(1e-3*m)
	}
	return s
}

// renamed is the same market under another name, and in one of five forms: as it
// was, one bar shorter, times 1.0001, quoted the other way round, or with every
// second bar only.
func (s series) renamed(number int) series {
	out := series{symbol: fmt.Sprint("MARKET", number), inverse: number%5 == 3}
	for i, p := range s.prices {
		switch number % 5 {
		case 1:
			if i == 0 {
				continue
			}
		case 2:
			p *= 1.0001
		case 3:
			p = 1 / p
		case 4:
			if i%2 > 0 {
				continue
			}
		}
		out.times, out.prices = append(out.times, s.times[i]), append(out.prices, p)
	}
	return out
}

// split cuts a series where the market's holdout begins.
func (s series) split(holdout int) (before, after series) {
	before, after = s, s
	i := 0
	for s.times[i] < holdout {
		i++
	}
	before.times, before.prices = s.times[:i+1], s.prices[:i+1]
	after.times, after.prices = s.times[i:], s.prices[i:]
	return before, after
}

// ledger counts the trials and the looks of every market.
type ledger struct {
	byName  bool
	markets []*ledgerMarket
}

type ledgerMarket struct {
	series        series
	trials, looks int
}

// market finds the market of a series by its content, or adds one.
func (l *ledger) market(s series) *ledgerMarket {
	for _, m := range l.markets {
		if l.byName && m.series.symbol == s.symbol || !l.byName && m.series.same(s) {
			return m
		}
	}
	m := &ledgerMarket{series: s}
	l.markets = append(l.markets, m)
	return m
}

// same says whether the returns between shared times have a correlation of 0.98
// or more, whatever its sign.
func (s series) same(o series) bool {
	var a, b, aa, ab, bb, n float64
	last := [2]float64{}
	for i, j := 0, 0; i < len(s.times) && j < len(o.times); {
		switch {
		case s.times[i] < o.times[j]:
			i++
			continue
		case s.times[i] > o.times[j]:
			j++
			continue
		}
		if last[0] > 0 {
			x, y := s.prices[i]/last[0]-1, o.prices[j]/last[1]-1
			a, b, aa, ab, bb, n = a+x, b+y, aa+x*x, ab+x*y, bb+y*y, n+1
		}
		last = [2]float64{s.prices[i], o.prices[j]}
		i, j = i+1, j+1
	}
	if n < 300 {
		return false
	}
	return math.Abs(ab-a*b/n) >= 0.98*math.Sqrt((aa-a*a/n)*(bb-b*b/n))
}

// climber is a strategy that a search fits to the test part: its side in every
// ten bars. On the holdout every strategy is drawn again, which is the worst that
// a search could breed: each look is another chance.
type climber struct {
	sides   []float64
	reached float64 // z-value of its Sharpe ratio on the test part
}

// child has a tenth of its parent's sides changed. Without a parent all are
// random.
func (c climber) child(bars int, r *num.Rand) climber {
	sides := make([]float64, bars/sideBars+1)
	for i := range sides {
		if c.sides == nil || r.Uint64n(10) == 0 {
			sides[i] = float64(r.Uint64n(3)) - 1
		} else {
			sides[i] = c.sides[i]
		}
	}
	return climber{sides: sides}
}

// trade is the part of a strategy on a series. edge is earned in every bar with a
// position, in units of the market's volatility. All checks without luck pass.
func (c climber) trade(s series, edge float64) Part {
	n := len(s.times) - 1
	p := Part{BarsPerYear: yearBars, Hold: make([]float64, n), Returns: make([]float64, n), Trades: goodTrades}
	for i := range n {
		side := c.sides[s.times[i]/sideBars]
		p.Hold[i] = s.prices[i+1]/s.prices[i] - 1
		p.Returns[i] = side*p.Hold[i] + math.Abs(side)*edge*1e-3
		if s.inverse {
			p.Returns[i] -= 2 * side * p.Hold[i]
		}
	}
	return p
}

// claims counts the groups in which a look claimed an edge, by the rule of
// Confirm and by another, and the looks of all groups.
func (w runGroup) claims(groups int, seed uint64, other func(c Confirmation) bool) (claimed, byOther, looks int) {
	for k := range groups {
		made := w.looks(num.NewRand(num.Mix(seed, uint64(k))))
		one, two := false, false
		for _, c := range made {
			one, two = one || c.Claim, two || other != nil && other(c)
		}
		claimed, byOther, looks = claimed+number(one), byOther+number(two), looks+len(made)
	}
	return claimed, byOther, looks
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}

// On a market without an edge at most 2 % of the run groups claim one: however its
// research is cut into runs, under whatever names, and with any number of runs at
// once. All costs are zero, and every check without luck passes.
func TestConfirm_AtMostTwoPercentOfRunGroupsClaimFalsely(t *testing.T) {
	groups := 6
	if soak() {
		groups = 1000
	}
	pooled, all := 0, 0
	for i, c := range []struct {
		name string
		runGroup
	}{
		{"25 runs of 8", runGroup{runs: 25, size: 8}},
		{"25 runs of 8, renamed", runGroup{runs: 25, size: 8, renamed: true}},
		{"25 runs of 8, 5 at once", runGroup{runs: 25, size: 8, parallel: 5}},
		{"25 runs of 8, edge died", runGroup{runs: 25, size: 8, died: true}},
		{"200 runs of 1", runGroup{runs: 200, size: 1}},
		{"200 runs of 1, renamed", runGroup{runs: 200, size: 1, renamed: true}},
		{"200 runs of 1, 10 at once", runGroup{runs: 200, size: 1, parallel: 10}},
		{"200 runs of 1, edge died", runGroup{runs: 200, size: 1, died: true}},
		{"200 runs of 1, edge died, renamed, 10 at once", runGroup{runs: 200, size: 1, died: true, renamed: true, parallel: 10}},
	} {
		t.Run(c.name, func(t *testing.T) {
			claimed, _, looks := c.claims(groups, uint64(1000+i), nil)
			low, high := binomialInterval(claimed, groups)
			t.Logf("%d of %d groups claim an edge: %.2f %% (95 %% interval %.2f to %.2f %%), %.1f looks a group",
				claimed, groups, percent(claimed, groups), 100*low, 100*high, float64(looks)/float64(groups))
			if low > 0.02 {
				t.Error("the lower end of the interval is above 2 %")
			}
			if looks < 5*groups {
				t.Errorf("%d looks in %d groups are too few to show anything", looks, groups)
			}
			pooled, all = pooled+claimed, all+groups
		})
	}
	low, high := binomialInterval(pooled, all)
	t.Logf("all cases: %d of %d groups claim an edge: %.2f %% (95 %% interval %.2f to %.2f %%)", pooled, all, percent(pooled, all),
		100*low, 100*high)
	if low > 0.02 || soak() && high > 0.02 {
		t.Error("the pooled interval is above 2 %")
	}
}

// The simulation above sees a ledger that is broken. Each of these claims in more
// than 2 % of the groups.
func TestConfirm_RunGroupsShowABrokenLedger(t *testing.T) {
	scale := 1
	if soak() {
		scale = 5
	}
	kPlus1 := func(c Confirmation) bool { return *c.P*float64(c.Before+1) <= 0.02 }
	asOne := func(c Confirmation) bool { return *c.P <= 0.02 }
	for _, c := range []struct {
		name string
		runGroup
		groups int
		rule   func(c Confirmation) bool // nil means that of Confirm
	}{
		{"a look after k others pays k+1", runGroup{runs: 40, size: 1, died: true}, 250, kPlus1},
		{"the eight looks of a generation pay as one", runGroup{runs: 8, size: 1, died: true}, 200, asOne},
		{"a market is its name", runGroup{runs: 100, size: 1, renamed: true, byName: true}, 12, nil},
		{"25 runs at once read their numbers first", runGroup{runs: 25, size: 1, parallel: 25, died: true, stale: true}, 80, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			groups := scale * c.groups
			claimed, byRule, _ := c.claims(groups, 2000, c.rule)
			if c.rule != nil {
				claimed = byRule
			}
			low, high := binomialInterval(claimed, groups)
			t.Logf("%d of %d groups claim an edge: %.1f %% (95 %% interval %.1f to %.1f %%)", claimed, groups, percent(claimed, groups),
				100*low, 100*high)
			if low <= 0.02 {
				t.Error("the simulation does not see it")
			}
		})
	}
	if !soak() {
		return
	}
	claimed, old, _ := runGroup{runs: 200, size: 1}.claims(1000, 2001, kPlus1)
	low, high := binomialInterval(old, 1000)
	t.Logf("200 runs of 1 that climb the test part: k+1 claims in %.1f %% of 1,000 groups (95 %% interval %.1f to %.1f %%), (k+1)(k+2) in "+
		"%.1f %%",
		percent(old, 1000), 100*low, 100*high, percent(claimed, 1000))
	if low <= 0.02 {
		t.Error("k+1 is not seen to claim too much")
	}
}

// A renamed market keeps its ledger, and another market has its own.
func TestLedger_KnowsAMarketByItsContent(t *testing.T) {
	r := num.NewRand(3)
	one, _ := singleRun{test: testBars, holdout: holdoutBars}.world(r)
	two, _ := singleRun{test: testBars, holdout: holdoutBars}.world(r)
	var l ledger
	m := l.market(seriesOf(one))
	for k := range 10 {
		if l.market(seriesOf(one).renamed(k)) != m {
			t.Errorf("form %d of the market has a ledger of its own", k)
		}
	}
	if l.market(seriesOf(two)) == m || len(l.markets) != 2 {
		t.Error("another market shares the ledger")
	}
}

func percent(k, n int) float64 { return 100 * float64(k) / float64(n) }

// binomialInterval is the exact 95 % interval of Clopper and Pearson for the
// probability of what happened k times in n.
func binomialInterval(k, n int) (low, high float64) {
	atMost := func(k int, p float64) float64 {
		sum, term := 0.0, math.Pow(1-p, float64(n))
		for i := range k + 1 {
			sum += term
			term *= float64(n-i) / float64(i+1) * p / (1 - p)
		}
		return sum
	}
	solve := func(above func(p float64) bool) float64 {
		from, to := 0.0, 1.0
		for range 60 {
			if p := (from + to) / 2; above(p) {
				to = p
			} else {
				from = p
			}
		}
		return from
	}
	low, high = 0, 1
	if k > 0 {
		low = solve(func(p float64) bool { return 1-atMost(k-1, p) > 0.025 })
	}
	if k < n {
		high = solve(func(p float64) bool { return atMost(k, p) < 0.025 })
	}
	return low, high
}

func TestBinomialInterval_HasThePublishedValues(t *testing.T) {
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{{0, 10, 0, 0.3085}, {1, 10, 0.0025, 0.4450}, {5, 10, 0.1871, 0.8129}, {10, 10, 0.6915, 1}, {20, 1000, 0.0123, 0.0307}} {
		low, high := binomialInterval(c.k, c.n)
		near(t, fmt.Sprintf("low end of %d of %d", c.k, c.n), low, c.low, 1e-4)
		near(t, fmt.Sprintf("high end of %d of %d", c.k, c.n), high, c.high, 1e-4)
	}
}
