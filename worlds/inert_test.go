package worlds

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/research"
)

// A gate that is always open looks like one that works. The tests of this file go red
// when the number of trials is forced to 1, and when a holdout leaks into the search.

// The trials of two runs on one market without an edge.
const (
	firstRun, secondRun = 24, 8
	noiseBars           = 3000
)

func TestInertGates_EveryTrialOfAMarketCountsAgainstEach(t *testing.T) {
	l := newLab(t, Cheap)
	l.add(Worlds[0].Make("NOISE", noiseBars, firstSeed-2))
	judged := 0
	for i, run := range []struct{ size, counted int }{{firstRun, firstRun}, {secondRun, firstRun + secondRun}} {
		id := l.start("NOISE", run.size, uint64(i))
		l.ends(id)
		judged += l.counted(id, run.counted)
	}
	if judged < firstRun/4 {
		t.Errorf("%d of %d researches were judged: too few to show how trials count", judged, firstRun+secondRun)
	}
}

// counted checks that the researches of a run were judged with a number of trials, and
// says how many were judged.
func (l *lab) counted(run string, trials int) (judged int) {
	l.t.Helper()
	for _, row := range ask[research.MemoryPage](l, "/api/v1/memory?kind=experiments&limit=100&run="+run).Experiments {
		var e research.Experiment
		if err := json.Unmarshal(ask[research.ExperimentRow](l, "/api/v1/memory/"+string(row.Operation)).Note, &e); err != nil {
			l.t.Fatal(err)
		}
		if e.Figures == nil || e.Figures.Deflated == nil {
			continue
		}
		judged++
		z := evidence.WeakerZ(e.Figures.SharpeZ, e.Figures.AlphaZ)
		if want := evidence.NormCDF(*z - evidence.BestByLuck(trials)); *e.Figures.Deflated != want || e.Figures.Trials != trials {
			l.t.Errorf("%s: a deflated Sharpe ratio of %.4f, adjusted for %d trials; the ledger has %d, which give %.4f", e.Name,
				*e.Figures.Deflated, e.Figures.Trials, trials, want)
		}
		if e.Rung == ktrdr.RungFinalist && *z < evidence.BestByLuck(trials) {
			l.t.Errorf("%s is a finalist at z = %.2f: the best of %d trials has %.2f by luck", e.Name, *z, trials, evidence.BestByLuck(trials))
		}
	}
	return judged
}

// A market with another holdout and the same bars before it gives the same results and
// examinations, to the bit.
func TestInertGates_NothingOfTheHoldoutReachesTheSearch(t *testing.T) {
	const bars, researches = 5000, 12 // a generation with a look, and some that learn from it
	plain := Kinds[0].Make("SAME", bars, firstSeed-1, 0.6)[0]
	var before []string
	for i, b := range []*market.Bars{plain, withOtherHoldout(plain)} {
		l := newLab(t, Fair)
		l.add(b)
		seed := uint64(1)
		made := l.Research(research.Request{Symbols: []string{"SAME"}, Count: researches, Seed: &seed, Force: true}, fmt.Sprint("leak-", i))
		l.ends(made.Run)
		var hashes []string
		for _, op := range made.Operations {
			hashes = append(hashes, l.ResultHash(op.Operation))
		}
		examined := l.examined()
		if len(examined) == 0 {
			t.Error("no finalist was examined: the test shows nothing of examinations")
		}
		hashes = append(hashes, examined...)
		if looks := l.get(made.Run).Looks; looks == 0 {
			t.Error("there was no look: the test shows nothing of designs after one")
		}
		if i == 0 {
			before = hashes
		}
		if len(hashes) != len(before) {
			t.Fatalf("%d results and examinations, and %d with other bars in the holdout", len(before), len(hashes))
		}
		for k, h := range hashes {
			if h != before[k] {
				t.Errorf("result %d of %d researches and %d examinations changed with the bars of the holdout", k+1, researches, len(examined))
			}
		}
		l.backend.Kill()
	}
}

// examined are the examinations of a lab, without their ids.
func (l *lab) examined() (all []string) {
	l.t.Helper()
	page, err := l.client.List(l.t.Context(), ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.Examining}, Limit: 100})
	if err != nil {
		l.t.Fatal(err)
	}
	for _, op := range page.Operations {
		x := ask[api.Results](l, "/api/v1/operations/"+string(op.ID)+"/results")
		var r jobs.ExaminationResult
		if err := json.Unmarshal(x.Results, &r); err != nil {
			l.t.Fatal(err)
		}
		if r.Examination.Score == nil {
			l.t.Errorf("%s has no score: %s", r.Strategy, r.Summary) // a holdout alone is too short for one
		}
		text, err := json.Marshal(r.Examination)
		if err != nil {
			l.t.Fatal(err)
		}
		all = append(all, r.Strategy+string(text))
	}
	slices.Sort(all)
	return all
}

// withOtherHoldout is the same market until the holdout. From there on it only
// rises, in steps that any search would find.
func withOtherHoldout(b *market.Bars) *market.Bars {
	cut := b.Len() - int(float64(HoldoutShare*float64(b.Len())))
	c := &market.Bars{Symbol: b.Symbol, Timeframe: b.Timeframe}
	r := num.NewRand(1)
	price := b.Close[cut-1]
	for i := range b.Time {
		if i < cut {
			c.Append(b.At(i))
			continue
		}
		open := price
		price *= 1 + float64(volatility*r.Float64())
		c.Append(market.Bar{Time: b.Time[i], Open: open, High: price, Low: open, Close: price, Volume: 1})
	}
	return c
}
