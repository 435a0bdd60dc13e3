package storetest

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ktrdr/ktrdr"
)

// testNumber reserves the test of a run.
func (l *lab) testNumber(run string, markets ...string) ktrdr.RunTest {
	l.Helper()
	test, err := l.ReserveTest(l.ctx(), run, markets, 0)
	l.must(err)
	return test
}

// tested completes the next operation with what the test of a run came to.
func (l *lab) tested(r ktrdr.RunTested) ktrdr.OperationID {
	l.Helper()
	l.create(ktrdr.NewOperation{})
	task := l.claim("w")
	f := ending(task, ktrdr.Completed)
	text, err := json.Marshal(map[string]any{"tested": r})
	l.must(err)
	f.Result = text
	_, err = l.Finish(l.ctx(), f)
	l.must(err)
	return task.Operation
}

var runTests = map[string]func(*lab){
	"ATestTakesItsNumberOnceForEachRun": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		for _, run := range []string{"one", "two", "three"} {
			l.research(run, 0, 0)
		}
		if test := l.run("one").Test; test != (ktrdr.RunTest{}) {
			l.Errorf("before: %+v", test)
		}
		first := l.testNumber("one", a)
		if first.Before != 0 || first.ReservedAt.IsZero() || !first.EndedAt.IsZero() {
			l.Errorf("the first: %+v", first)
		}
		if second := l.testNumber("two", b, a, a); second.Before != 1 {
			l.Errorf("on two markets, one of which has a test: %d before it, want 1", second.Before)
		}
		if third := l.testNumber("three", b); third.Before != 1 {
			l.Errorf("on the other market: %d before it, want 1", third.Before)
		}
		same(l, "again", l.testNumber("one", a, b), first)
		same(l, "in the row", l.run("one").Test, first)
		_, err := l.ReserveTest(l.ctx(), "nothing", []string{a}, 0)
		l.refused(err, ktrdr.CodeNotFound)
		_, err = l.ReserveTest(l.ctx(), "one", nil, 0)
		l.refused(err, ktrdr.CodeInvalid)
	},

	"TestsAtOnceHaveDifferentNumbers": func(l *lab) {
		m := l.market("A").Market
		const runs = 8
		taken := make([]int, runs)
		var wg sync.WaitGroup
		for i := range runs {
			l.research(fmt.Sprint("run", i), 0, 0)
		}
		for i := range runs {
			wg.Go(func() {
				test, err := l.ReserveTest(l.ctx(), fmt.Sprint("run", i), []string{m}, 0)
				if err != nil {
					l.Error(err)
				}
				taken[i] = test.Before
			})
		}
		wg.Wait()
		seen := map[int]bool{}
		for _, n := range taken {
			seen[n] = true
		}
		if len(seen) != runs || !seen[0] || !seen[runs-1] {
			l.Errorf("numbers %v, want each from 0 to %d once", taken, runs-1)
		}
	},

	"ATestHasAtLeastTheNumberThatIsGiven": func(l *lab) {
		m := l.market("A").Market
		for i, want := range []int{4, 1, 6} {
			run := fmt.Sprint("run", i)
			l.research(run, 0, 0)
			test, err := l.ReserveTest(l.ctx(), run, []string{m}, []int{4, 0, 6}[i])
			l.must(err)
			if test.Before != want {
				l.Errorf("test %d: number %d, want %d", i, test.Before, want)
			}
		}
	},

	"AResultIsStoredOnce": func(l *lab) {
		m := l.market("A").Market
		l.research("run", 0, 0)
		r := ktrdr.RunTested{Run: "run", RunTestResult: ktrdr.RunTestResult{
			P: new(0.005), Threshold: 0.025, Copies: 199, Best: "op_best", Passed: true,
		}}
		l.tested(r)
		if test := l.run("run").Test; !test.EndedAt.IsZero() {
			l.Errorf("a test without a number was stored: %+v", test)
		}
		reserved := l.testNumber("run", m)
		id := l.tested(r)
		got := l.run("run").Test
		if got.EndedAt.IsZero() {
			l.Error("nothing says when it ended")
		}
		want := reserved
		want.RunTestResult, want.EndedAt = r.RunTestResult, got.EndedAt
		want.Operation = id
		same(l, "stored", got, want)
		r.P, r.Passed = new(0.5), false
		l.tested(r)
		same(l, "another result later", l.run("run").Test, got)
	},

	"MergedMarketsHaveTheTestsOfBoth": func(l *lab) {
		a, b := l.market("A").Market, l.market("B").Market
		for i, m := range []string{a, b, b} {
			run := fmt.Sprint("run", i)
			l.research(run, 0, 0)
			l.testNumber(run, m)
		}
		_, err := l.AddSeries(l.ctx(), ktrdr.NewSeries{MarketSeries: series("C", "1h", 200), Same: []string{a, b}})
		l.must(err)
		l.research("next", 0, 0)
		if next := l.testNumber("next", b); next.Before != 3 {
			l.Errorf("%d tests before it, want 3", next.Before)
		}
	},
}
