package report

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/research"
)

// Search is how far a search came: how many strategies reached each stage, and
// the best so far beside what luck shows.
type Search struct {
	From   time.Time `json:"from"`
	To     time.Time `json:"to"`
	Run    string    `json:"run,omitempty"`
	Funnel Funnel    `json:"funnel"`
	// StandardError is the median of the standard errors of the Sharpe ratios;
	// null before the first backtest.
	StandardError *float64 `json:"standard_error"`
	Luck          *float64 `json:"expected_best_by_luck"` // of as many trials as there are
	Best          *Tried   `json:"best"`                  // the highest Sharpe ratio; null before the first backtest
	// Trials are those with a backtest, in the order tried. Of more than
	// MostTried, what stands out is kept: finalists, claims, each best so far, and
	// the lowest and highest of each stretch.
	Trials []Tried `json:"trials"`
	Low    int     `json:"low"` // how many have a Sharpe ratio below LowSharpe; they are not in Trials
	// Stopped counts the strategies that a gate stopped, by the check that they
	// failed; the most frequent is first. A strategy may fail several.
	Stopped []StoppedCount `json:"stopped_by"`
	// Thresholds are of the markets of the trials, at most 20: the most looks first.
	Thresholds []MarketThreshold `json:"thresholds"`
}

// StoppedCount is how many strategies failed a check of a gate.
type StoppedCount struct {
	Code string `json:"code"`
	N    int    `json:"count"`
}

// Funnel counts the strategies that reached each stage.
type Funnel struct {
	Tried      int `json:"tried"`
	Running    int `json:"running"`
	Failed     int `json:"failed"` // or were cancelled
	Trained    int `json:"trained"`
	Backtested int `json:"backtested"` // they passed the training gate
	Passed     int `json:"passed_gates"`
	Finalists  int `json:"finalists"` // passed every check on the test part
	Looks      int `json:"looks"`     // their holdouts were opened
	Claims     int `json:"claims"`
}

// Tried is one trial with a backtest.
type Tried struct {
	N         int               `json:"n"` // the first trial of the selection is 1
	Operation ktrdr.OperationID `json:"operation_id"`
	Sharpe    float64           `json:"sharpe_ratio"` // of the test part, per year, net of costs
	Finalist  bool              `json:"finalist"`
	Claim     bool              `json:"claim"`
}

// LuckAt is the Sharpe ratio that the best of n trials without an edge shows.
func (s Search) LuckAt(n int) float64 {
	if s.StandardError == nil {
		return 0
	}
	return evidence.BestByLuck(n) * *s.StandardError
}

// Search tells how far the researches of a span or of a run came; CodeNotFound
// when there is no such run.
func (r Reporter) Search(ctx context.Context, q Query) (Search, error) {
	l := &lookback{Reporter: r, query: q, out: Report{From: q.Since, To: time.Now().UTC(), Run: q.Run}}
	if err := l.begin(ctx); err != nil {
		return Search{}, err
	}
	selection := ktrdr.TrialQuery{Run: q.Run, Type: ktrdr.AgentResearch}
	if l.run == nil {
		selection.Since = l.out.From
	}
	points, err := r.engine.TrialPoints(ctx, selection)
	if err != nil {
		return Search{}, err
	}
	s := searchOf(points)
	s.From, s.To, s.Run = l.out.From, l.out.To, l.out.Run
	s.Thresholds, err = r.thresholds(ctx, points)
	return s, err
}

func searchOf(points []ktrdr.TrialPoint) Search {
	s := Search{Funnel: Funnel{Tried: len(points)}, Stopped: stoppedCounts(points)}
	listed := []Tried{}
	for i := range points {
		p := &points[i]
		s.Funnel.add(p)
		if p.Sharpe == nil {
			continue
		}
		t := Tried{N: i + 1, Operation: p.Operation, Sharpe: *p.Sharpe, Finalist: p.Rung == ktrdr.RungFinalist, Claim: p.Claim}
		if s.Best == nil || t.Sharpe > s.Best.Sharpe {
			s.Best = &t
		}
		if t.Sharpe < LowSharpe {
			s.Low++
			continue
		}
		listed = append(listed, t)
	}
	s.Trials = outstanding(listed)
	if s.StandardError = research.StandardError(points); s.StandardError != nil {
		luck := s.LuckAt(len(points))
		s.Luck = &luck
	}
	return s
}

func stoppedCounts(points []ktrdr.TrialPoint) []StoppedCount {
	counts := map[string]int{}
	for i := range points {
		for code := range strings.FieldsSeq(points[i].StoppedBy) {
			counts[code]++
		}
	}
	list := []StoppedCount{}
	for code, n := range counts {
		list = append(list, StoppedCount{code, n})
	}
	slices.SortFunc(list, func(a, b StoppedCount) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Code, b.Code)) })
	return list
}

// add counts a trial at each stage that it reached.
func (f *Funnel) add(p *ktrdr.TrialPoint) {
	switch {
	case !p.Status.Terminal():
		f.Running++
		return
	case p.Status != ktrdr.Completed:
		f.Failed++
		return
	}
	f.Trained++
	if p.Sharpe == nil {
		return
	}
	f.Backtested++
	if p.Rung == ktrdr.RungRejected {
		return
	}
	f.Passed++
	if p.Rung == ktrdr.RungFinalist {
		f.Finalists++
	}
	if p.Looked {
		f.Looks++
	}
	if p.Claim {
		f.Claims++
	}
}

const (
	// MostTried bounds the trials of a search that are listed one by one.
	MostTried = 600
	// LowSharpe is the Sharpe ratio below which trials are only counted.
	LowSharpe = -3
)

// outstanding keeps at most about MostTried trials: see Search.
func outstanding(all []Tried) []Tried {
	if len(all) <= MostTried {
		return all
	}
	const stretches = MostTried / 4 // each keeps two, and what stands out comes on top
	kept, top := []Tried{}, math.Inf(-1)
	for i := range stretches {
		part := all[len(all)*i/stretches : len(all)*(i+1)/stretches]
		low, high := 0, 0
		for j := range part {
			if part[j].Sharpe < part[low].Sharpe {
				low = j
			}
			if part[j].Sharpe > part[high].Sharpe {
				high = j
			}
		}
		for j, t := range part {
			if j == low || j == high || t.Finalist || t.Claim || t.Sharpe > top {
				kept = append(kept, t)
			}
			top = max(top, t.Sharpe)
		}
	}
	return kept
}
