package report

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/evidence/panel"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
)

const (
	// MostPanelTrials bounds the trials of a panel: the newest are taken.
	MostPanelTrials = 2000
	// MostRejected bounds the trials of StepM that are listed.
	MostRejected = 50

	panelSeed   = 1 // of the resamples: the same daily returns give the same figures
	panelChunk  = 100
	panelPanels = 3 // runs of a span whose panels a report has

	overfitAbove = 0.5  // a PBO that is a weakness
	chanceAbove  = 0.05 // a p-value of SPA that is a weakness
)

// PanelQuery names what is judged: a run, a market, or the run of a research.
type PanelQuery struct {
	Run      string            `query:"run" doc:"the researches of this run; the id may be shortened as long as it names one run"`
	Market   string            `query:"market" doc:"the researches of all runs on this market"`
	Research ktrdr.OperationID `query:"research" doc:"the researches of the run of this one, and what StepM says of it"`
}

// Panel is what the daily net returns of all trials of a run, or on a market, say
// of the whole search. They are those of the test part; a holdout is never in them.
type Panel struct {
	Run    string `json:"run,omitempty"`
	Market string `json:"market,omitempty"`

	Researches int `json:"researches"`    // of the run or on the market
	Without    int `json:"without_days"`  // no backtest was made, it has not ended, or it has no trade
	Elsewhere  int `json:"other_days"`    // tried on another test part, so that they share too few days
	Older      int `json:"not_read"`      // a panel has the newest 2,000
	Finalists  int `json:"finalists"`     // of the researches; their verdicts passed
	From       Day `json:"from,omitzero"` // the first day
	To         Day `json:"to,omitzero"`   // the last
	panel.Judgement

	Best     *PanelTrial  `json:"best"`     // the largest t-value; null without one
	Rejected []PanelTrial `json:"rejected"` // by StepM, the largest t-value first; at most 50
	Found    int          `json:"rejected_trials"`
	Trial    *PanelTrial  `json:"trial,omitempty"` // the research that was asked for

	Weaknesses []string `json:"weaknesses"` // of every verdict of this search, in words

	// Test is that of the run on permuted copies of its bars.
	Test ktrdr.RunTest `json:"factory_test,omitzero"`
}

// Day is a day as JSON writes it: 2026-11-18.
type Day struct{ time.Time }

// MarshalText implements encoding.TextMarshaler.
func (d Day) MarshalText() ([]byte, error) { return []byte(d.Format(time.DateOnly)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *Day) UnmarshalText(text []byte) (err error) {
	d.Time, err = time.Parse(time.DateOnly, string(text))
	return err
}

// PanelTrial is one trial of a panel.
type PanelTrial struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Strategy  string            `json:"strategy_name,omitempty"`
	T         *float64          `json:"t_value"`    // of the mean daily net return
	P         *float64          `json:"adjusted_p"` // of StepM
	Rejected  bool              `json:"rejected"`   // StepM: its mean daily net return is above 0
	Sharpe    *float64          `json:"sharpe_ratio"`
	// Deflated is the deflated Sharpe ratio with the effective number of trials of the
	// panel instead of the counted trials. No verdict uses it.
	Deflated *float64 `json:"deflated_by_effective_trials"`
	Finalist bool     `json:"finalist"`          // its verdict passed: every check on the test part
	Missing  string   `json:"missing,omitempty"` // why it is not in the panel
}

// panels keeps judgements by what was judged, and makes one at a time: the page may
// ask for the same one several times.
type panels struct {
	one  sync.Mutex
	kept *cache.Cache[ktrdr.Hash, panel.Judgement]
}

func newPanels() *panels { return &panels{kept: cache.New[ktrdr.Hash, panel.Judgement](1 << 22)} }

func (k *panels) judge(p *panel.Panel) panel.Judgement {
	k.one.Lock()
	defer k.one.Unlock()
	h := hashOf(p)
	j, ok := k.kept.Get(h)
	if !ok {
		j = panel.Judge(p, panel.Options{Seed: panelSeed})
		k.kept.Put(h, j, 1<<10+40*len(p.Returns))
	}
	return j
}

// hashOf covers every day and return of a panel, in their order.
func hashOf(p *panel.Panel) (h ktrdr.Hash) {
	sum := sha256.New()
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(p.Days)))
	for _, d := range p.Days {
		data = binary.LittleEndian.AppendUint32(data, uint32(d))
	}
	_, _ = sum.Write(data) // a hash never fails
	for _, x := range p.Returns {
		data = data[:0]
		for _, v := range x {
			data = binary.LittleEndian.AppendUint64(data, math.Float64bits(v))
		}
		_, _ = sum.Write(data)
	}
	sum.Sum(h[:0])
	return h
}

// Panel judges the daily returns of all trials of a run or on a market; CodeInvalid,
// CodeNotFound.
func (r Reporter) Panel(ctx context.Context, q PanelQuery) (Panel, error) {
	out := Panel{Rejected: []PanelTrial{}, Weaknesses: []string{}}
	if err := r.selectPanel(ctx, q, &out); err != nil {
		return Panel{}, err
	}
	points, err := r.engine.TrialPoints(ctx, ktrdr.TrialQuery{Run: out.Run, Market: out.Market, Type: ktrdr.AgentResearch})
	if err != nil {
		return Panel{}, err
	}
	out.Researches = len(points)
	for i := range points {
		if points[i].Rung == ktrdr.RungFinalist {
			out.Finalists++
		}
	}
	tried := slices.DeleteFunc(slices.Clone(points), func(p ktrdr.TrialPoint) bool { return p.Sharpe == nil })
	out.Older = max(len(tried)-MostPanelTrials, 0)
	tried = tried[out.Older:]
	days, names, err := r.dailyOf(ctx, tried)
	if err != nil {
		return Panel{}, err
	}
	series := make([]panel.TrialDays, len(tried))
	for i := range tried {
		series[i] = days[tried[i].Operation]
	}
	p, members := panel.Align(series)
	read := 0
	for _, s := range series {
		if len(s.Days) > 0 {
			read++
		}
	}
	out.Without, out.Elsewhere = out.Researches-out.Older-read, read-len(members)
	out.Judgement = r.panels.judge(&p)
	out.fill(&p, tried, members, names, q.Research)
	out.Weaknesses = append(out.Weaknesses, out.weaknesses()...)
	return out, nil
}

// selectPanel says which researches are meant.
func (r Reporter) selectPanel(ctx context.Context, q PanelQuery, out *Panel) error {
	asked := 0
	for _, given := range []string{q.Run, q.Market, string(q.Research)} {
		if given != "" {
			asked++
		}
	}
	if asked != 1 {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "name one of run, market and research: `ktrdr runs` and `ktrdr data list` show runs and markets")
	}
	switch {
	case q.Run != "":
		run, err := r.engine.FindRun(ctx, q.Run)
		out.Run, out.Test = run.ID, run.Test
		return err
	case q.Market != "":
		m, err := r.engine.Market(ctx, q.Market)
		out.Market = m.ID
		return err
	}
	op, err := r.engine.Operation(ctx, q.Research)
	switch {
	case err != nil:
		return err
	case op.Type != ktrdr.AgentResearch:
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s is not a research but %s; `ktrdr leaderboard` lists researches", op.ID, op.Type)
	case op.Run == "":
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s belongs to no run: an earlier version made it", op.ID)
	}
	run, err := r.engine.FindRun(ctx, op.Run)
	out.Run, out.Test = op.Run, run.Test
	return err
}

// dailyOf reads the daily returns on the test part and the names of the strategies.
// They are kept of every backtest, compacted or not.
func (r Reporter) dailyOf(
	ctx context.Context, tried []ktrdr.TrialPoint,
) (days map[ktrdr.OperationID]panel.TrialDays, names map[ktrdr.OperationID]string, err error) {
	days, names = map[ktrdr.OperationID]panel.TrialDays{}, map[ktrdr.OperationID]string{}
	newest := map[ktrdr.OperationID]int{}
	for some := range slices.Chunk(tried, panelChunk) {
		q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.Backtesting}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000}
		for i := range some {
			q.Parents = append(q.Parents, some[i].Operation)
		}
		for {
			page, err := r.engine.List(ctx, q)
			if err != nil {
				return nil, nil, err
			}
			for i := range page.Operations {
				op := &page.Operations[i]
				if ordinal, ok := newest[op.Parent]; ok && ordinal >= op.Ordinal {
					continue
				}
				newest[op.Parent] = op.Ordinal
				if days[op.Parent], names[op.Parent], err = dailySeries(op); err != nil {
					return nil, nil, err
				}
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				break
			}
		}
	}
	return days, names, nil
}

// dailySeries are the daily returns of one backtest. One that read a holdout has
// none here, and so has one of an earlier version.
func dailySeries(op *ktrdr.Operation) (s panel.TrialDays, name string, err error) {
	var result struct {
		Strategy string        `json:"strategy_name"`
		Daily    *jobs.Daily   `json:"daily_returns"`
		Opened   *jobs.Opening `json:"holdout_opened"`
	}
	if err := json.Unmarshal(op.Result, &result); err != nil {
		return s, "", fmt.Errorf("result of %s: %w", op.ID, err)
	}
	if result.Daily == nil || result.Opened != nil {
		return s, result.Strategy, nil
	}
	list, err := result.Daily.List()
	if err != nil {
		return s, "", fmt.Errorf("%s: %w", op.ID, err)
	}
	const day = 24 * 60 * 60
	for _, d := range list {
		s.Days, s.Returns = append(s.Days, int32(d.Day.Unix()/day)), append(s.Returns, float64(d.Return))
	}
	return s, result.Strategy, nil
}

// fill adds what the judgement says of single trials.
func (p *Panel) fill(
	of *panel.Panel, tried []ktrdr.TrialPoint, members []int, names map[ktrdr.OperationID]string, asked ktrdr.OperationID,
) {
	if n := len(of.Days); n > 0 {
		day := func(d int32) Day { return Day{time.Unix(int64(d)*24*60*60, 0).UTC()} }
		p.From, p.To = day(of.Days[0]), day(of.Days[n-1])
	}
	about := func(k int) PanelTrial {
		point := &tried[members[k]]
		t := PanelTrial{
			Operation: point.Operation, Strategy: names[point.Operation], T: p.StepM.T[k], P: p.StepM.P[k], Sharpe: point.Sharpe,
			Rejected: slices.Contains(p.StepM.Rejected, k), Finalist: point.Rung == ktrdr.RungFinalist,
		}
		if p.Effective != nil && point.SharpeZ != nil {
			t.Deflated = new(evidence.Deflate(*point.SharpeZ, max(int(math.Ceil(*p.Effective)), 1)))
		}
		return t
	}
	if p.SPA.Best != nil {
		p.Best = new(about(*p.SPA.Best))
	}
	p.Found = len(p.StepM.Rejected)
	for _, k := range p.StepM.Rejected {
		p.Rejected = append(p.Rejected, about(k))
	}
	slices.SortStableFunc(p.Rejected, func(a, b PanelTrial) int { return cmp.Compare(*b.T, *a.T) })
	p.Rejected = p.Rejected[:min(len(p.Rejected), MostRejected)]
	if asked == "" {
		return
	}
	p.Trial = &PanelTrial{Operation: asked, Strategy: names[asked], Missing: "it has no daily returns on the test part"}
	if i := slices.IndexFunc(tried, func(t ktrdr.TrialPoint) bool { return t.Operation == asked }); i >= 0 {
		p.Trial.Finalist = tried[i].Rung == ktrdr.RungFinalist
		if k := slices.Index(members, i); k >= 0 {
			p.Trial = new(about(k))
		} else if _, ok := names[asked]; ok {
			p.Trial.Missing = "it was tried on another test part than most trials"
		}
	}
}

// weaknesses are those of the whole search, in words.
func (p *Panel) weaknesses() (list []string) {
	if x := p.PBO.PBO; x != nil && *x > overfitAbove {
		list = append(list, fmt.Sprintf("the search is overfit: the probability of backtest overfitting is %.2f, above %.1f. "+
			"The best trial on one half of the days was mostly in the lower half of all trials on the other days", *x, overfitAbove))
	}
	if x := p.SPA.P; x != nil && *x > chanceAbove {
		list = append(list, fmt.Sprintf("chance explains the best trial of the search: p = %.3f by SPA, above %.2f. "+
			"A search of the same trials without an edge shows one at least as good in about %.0f %% of cases", *x, chanceAbove, 100**x))
	}
	return list
}

// readPanels adds the panels of the run, or of the newest runs of the span.
func (l *lookback) readPanels(ctx context.Context) error {
	if !l.query.Panels {
		return nil
	}
	runs := []string{}
	if l.run != nil {
		runs = append(runs, l.run.ID)
	} else {
		page, err := l.engine.Runs(ctx, ktrdr.RunQuery{Limit: panelPanels})
		if err != nil {
			return err
		}
		for i := range page.Runs {
			if r := &page.Runs[i]; r.EndedAt.IsZero() || !r.EndedAt.Before(l.out.From) {
				runs = append(runs, r.ID)
			}
		}
	}
	for _, run := range runs {
		p, err := l.Panel(ctx, PanelQuery{Run: run})
		if err != nil {
			return err
		}
		l.out.Panels = append(l.out.Panels, p)
	}
	return nil
}
