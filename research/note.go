package research

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// The kinds of notes. A note's key is the place of its research in its run, so
// that a research that is resumed, or asked twice, notes everything once.
const (
	NoteExperiment = "experiment" // how a research ended
	NoteHypothesis = "hypothesis" // something to find out, and later what was found
)

// Experiment is what memory keeps of a research.
type Experiment struct {
	Name       string             `json:"strategy_name,omitempty"`
	Strategy   string             `json:"strategy_yaml,omitempty"`
	Key        string             `json:"key,omitempty"`
	Genome     *designer.Genome   `json:"genome,omitempty"`
	Symbols    []string           `json:"symbols"`
	Timeframes []market.Timeframe `json:"timeframes"`
	Searched   []Span             `json:"searched,omitempty"` // the bars that it saw
	Seed       uint64             `json:"seed"`

	Status     Outcome          `json:"status"`
	GateReason string           `json:"gate_rejection_reason,omitempty"`
	Error      string           `json:"error_message,omitempty"`
	Verdict    evidence.Level   `json:"verdict,omitempty"`
	Rung       string           `json:"rung,omitempty"`
	Summary    string           `json:"summary,omitempty"`
	Figures    *BacktestFigures `json:"results,omitempty"`
	Outcome    designer.Outcome `json:"outcome"` // as the designer reads it

	Hypothesis string       `json:"hypothesis,omitempty"` // that was tested
	Hypotheses []Hypothesis `json:"hypotheses,omitempty"` // for the next round
	ResultHash ktrdr.Hash   `json:"result_hash,omitzero"`
}

// HypothesisStatus is what is known of a hypothesis.
type HypothesisStatus string

// The statuses.
const (
	Untested     HypothesisStatus = "untested"
	Validated    HypothesisStatus = "validated" // on the test part
	Refuted      HypothesisStatus = "refuted"
	Inconclusive HypothesisStatus = "inconclusive"
)

// HypothesisNote is a hypothesis and its status; the newest note of an id counts.
type HypothesisNote struct {
	ID        string           `json:"id"`
	Text      string           `json:"text"`
	Rationale string           `json:"rationale,omitempty"`
	Code      string           `json:"code,omitempty"` // of the check or gate that it came from
	Status    HypothesisStatus `json:"status"`
	Source    string           `json:"source_experiment"`   // place of the research that posed it
	TestedBy  string           `json:"tested_by,omitempty"` // place of the one that tested it
}

// Lesson is the designer's lesson that tests the hypothesis; "" if no lesson tests it.
func (h HypothesisNote) Lesson() string { return cmp.Or(teaches[evidence.Code(h.Code)], h.Code) }

func (h *HypothesisNote) bounded() *HypothesisNote {
	if h == nil {
		return nil
	}
	return &HypothesisNote{
		ID: clip(h.ID, maxLine), Text: clip(h.Text, maxLine), Rationale: clip(h.Rationale, maxLine),
		Code: clip(h.Code, maxLine), Status: Untested, Source: clip(h.Source, maxLine),
	}
}

// note makes a note of this research. The suffix tells notes of one kind apart.
func (r *research) note(kind, suffix string, data any) (ktrdr.Note, error) {
	text, err := encode(data)
	if err != nil {
		return ktrdr.Note{}, fmt.Errorf("note of the kind %s: %w", kind, err)
	}
	return ktrdr.Note{
		Kind: kind, Key: r.spec.Key() + suffix, Run: r.spec.Run, Generation: r.spec.Generation, Index: r.spec.Index, Data: text,
	}, nil
}

func (r *research) posed() ([]ktrdr.Note, error) {
	if r.state.Hypothesis == "" {
		return nil, nil
	}
	n, err := r.note(NoteHypothesis, "/0", HypothesisNote{
		ID: r.spec.Key() + "/0", Text: r.state.Hypothesis, Status: Untested, Source: r.spec.Key(),
	})
	return []ktrdr.Note{n}, err
}

// failed notes a failure, under a key that leaves room for the experiment if resumed.
func (r *research) failed(message string) ([]ktrdr.Note, error) {
	e := r.experiment(OutcomeFailed)
	e.Error, e.Outcome = message, designer.Outcome{Failed: true}
	if design, err := r.design(); err == nil && design != nil { // one that cannot be read teaches nothing
		e.Key, e.Genome = design.Key, design.Genome
	}
	n, err := r.note(NoteExperiment, "/failed", e)
	return []ktrdr.Note{n}, err
}

func (r *research) experiment(status Outcome) Experiment {
	e := Experiment{
		Name: r.state.StrategyName, Strategy: r.state.Strategy, Seed: r.spec.Seed, Status: status, Hypothesis: r.state.Hypothesis,
		Searched: r.spec.Searched,
	}
	for _, b := range jobs.TradedBars(r.spec.Bars) {
		if !slices.Contains(e.Symbols, b.Symbol) {
			e.Symbols = append(e.Symbols, b.Symbol)
		}
		if !slices.Contains(e.Timeframes, b.Timeframe) {
			e.Timeframes = append(e.Timeframes, b.Timeframe)
		}
	}
	return e
}

// learnt notes the experiment, the hypothesis that it tested, and the next ones.
func (r *research) learnt(e evaluation, verdict *Assessment, result *Result) ([]ktrdr.Note, error) {
	x := r.experiment(result.Outcome)
	x.GateReason, x.Verdict, x.Rung, x.Summary = result.GateReason, verdict.Verdict, result.Rung, result.Summary
	x.Figures, x.Hypotheses, x.ResultHash = result.Figures, verdict.Hypotheses, result.ResultHash
	x.Outcome = r.outcome(e, verdict)
	if e.design != nil {
		x.Key, x.Genome = e.design.Key, e.design.Genome
	}
	n, err := r.note(NoteExperiment, "", x)
	if err != nil {
		return nil, err
	}
	notes := []ktrdr.Note{n}
	add := func(suffix string, h HypothesisNote) error {
		n, err := r.note(NoteHypothesis, suffix, h)
		notes = append(notes, n)
		return err
	}
	if r.state.Hypothesis != "" {
		own := HypothesisNote{ID: r.spec.Key() + "/0", Text: r.state.Hypothesis, Source: r.spec.Key()}
		err = add("/0/tested", own.tested(r.spec.Key(), found(verdict, result.Outcome)))
	}
	if h := r.state.Tests; h != nil {
		err = errors.Join(err, add("/tests", h.tested(r.spec.Key(), found(verdict, result.Outcome))))
	}
	for i, h := range verdict.Hypotheses {
		suffix := fmt.Sprintf("/%d", i+1)
		err = errors.Join(err, add(suffix, HypothesisNote{
			ID: r.spec.Key() + suffix, Text: h.Text, Rationale: h.Rationale, Code: h.Code, Status: Untested, Source: r.spec.Key(),
		}))
	}
	return notes, err
}

func (h HypothesisNote) tested(by string, status HypothesisStatus) HypothesisNote {
	h.TestedBy, h.Status = by, status
	return h
}

// found is the status of a tested hypothesis. No evidence is not a refutation.
func found(v *Assessment, o Outcome) HypothesisStatus {
	switch {
	case v.Finalist:
		return Validated
	case o == OutcomeCompleted && v.Verdict == evidence.Poor:
		return Refuted
	}
	return Inconclusive
}

// teaches maps failed checks of the test part to the designer's lessons.
var teaches = map[evidence.Code]string{
	evidence.NotRuined: "ruin", evidence.NotCollapsed: "collapsed", evidence.EnoughTrades: "too_few_trades",
	evidence.PositiveSharpe: "sharpe", evidence.BoundedDrawdown: "drawdown", evidence.SurvivesCosts: "costs",
	evidence.BoundedDecay: "decay", evidence.BeatsHold: "buy_and_hold", evidence.BeatsLuck: "significance",
}

// outcome is the end of a research as the designer reads it. It says nothing of a
// look: a search that is told the result of a thousand looks has read the holdout.
func (r *research) outcome(e evaluation, v *Assessment) designer.Outcome {
	o := designer.Outcome{Verdict: string(v.Verdict), Collapsed: e.training.Test != nil && e.training.Test.Collapsed}
	if refused := r.state.refusal(); refused != nil {
		o.Rejected = true
		for _, r := range refused.Reasons {
			o.Reasons = append(o.Reasons, designer.Refusal{Code: string(r.Code), Value: r.Value, Limit: r.Limit})
		}
	}
	if f := e.figures(); f != nil {
		o.Sharpe, o.Trades, o.Drawdown, o.CostShare = f.Sharpe, f.Trades, f.MaxDrawdown, f.CostShare
		o.Behaviour = behaviour(e.run)
	}
	for _, reason := range v.Reasons {
		lesson := teaches[reason.Code]
		if !reason.Passed && lesson != "" && !o.Rejected {
			o.Reasons = append(o.Reasons, designer.Refusal{Code: lesson, Value: reason.Value, Limit: reason.Limit})
		}
	}
	return o
}

// behaviour is how a backtest traded; nil if it did not.
func behaviour(run *jobs.BacktestResult) *designer.Behaviour {
	m := &run.Metrics
	if m.TotalTrades == 0 || m.Exposure == nil {
		return nil
	}
	b := &designer.Behaviour{
		Held:     rounded(float64(*m.Exposure*float64(max(m.Bars-1, 0))) / float64(m.TotalTrades)),
		Exposure: rounded(*m.Exposure),
	}
	if run.Daily == nil {
		return b
	}
	days, err := run.Daily.List()
	if err != nil {
		return b // its returns cannot be read; how long it held can
	}
	returns := make([]float64, len(days))
	for i, d := range days {
		returns[i] = float64(d.Return)
	}
	b.Path = designer.PathOf(run.Daily.First, returns)
	return b
}

// rounded keeps three decimals: notes are read by people.
func rounded(x float64) float64 { return math.Round(1000*x) / 1000 }
