package page

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// facts is all that the API says of a research.
//
//	operation ──▶ spec, state ──▶ training, backtest, assessment: results
//	                         └──▶ ledger: trial, looks; children, checkpoints
type facts struct {
	op          ktrdr.Operation
	spec        research.Spec
	state       research.PlanState
	result      research.Result
	trial       *ktrdr.Trial
	looks       []ktrdr.Look
	ladder      *research.Ladder        // nil before it has ended
	examined    *jobs.ExaminationResult // nil unless it was a finalist and its generation is closed
	calibration string                  // beside a claim: how often this lab claims falsely on the market
	look        *research.Confirmation  // nil unless its holdout was opened and the result is known
	training    *jobs.TrainingResult
	backtest    *jobs.BacktestResult
	assessment  *research.Assessment
	children    []ktrdr.Operation
	history     map[ktrdr.OperationID][]ktrdr.CheckpointInfo
	talks       []talk
	note        struct{ name, yaml, hypothesis string } // that memory has of a compacted research
}

// gates are what the gates said.
func (f *facts) gates() []research.GateResult {
	if len(f.state.Gates) > 0 {
		return f.state.Gates
	}
	return f.result.Gates
}

// strategy is the view of a research.
type strategy struct {
	ID, Handle, Name, Symbol, Goal, Designer string
	Created                                  time.Time
	Took                                     string
	MadeUp, Live, Ended                      bool

	Mark, Headline string
	Lead           []phrase
	Actions        []action
	Links          []link
	Sections       []link
	Phase          string
	State          string // changes when sections appear

	Verdict   *verdict
	Ladder    []rung
	Examined  *examination
	Equity    *equity
	Months    *months
	Drawdowns []drawdownRow
	Returns   *figure
	Lazy      []lazy
	Training  []figure
	Figures   []field
	YAML      *yamlFile
	Talks     []talk
	Timeline  *timeline
	Next      []research.Hypothesis
	Reproduce *reproduce
	Note      string // what the designer said
}

// figure is a chart with its caption.
type figure struct {
	ID, Title, Note string
	Legend          []legend
	Chart           template.HTML
}

type legend struct{ Class, Text string }

// lazy is a section that the browser asks for when the page is there: it may take
// longer.
type lazy struct{ ID, Title, At, Wait string }

func (p *Pages) readStrategy(ctx context.Context, r *http.Request) (*strategy, error) {
	id, err := p.findResearch(ctx, r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	f, err := p.readFacts(ctx, id)
	if err != nil {
		return nil, err
	}
	s := f.view(may(ctx), r.URL.Query().Get("scale") == "linear")
	for i := range s.Lazy {
		if s.Lazy[i].ID == "candles" {
			s.Lazy[i].At += windowOf(r.URL.Query())
		}
	}
	s.Live = !s.Ended || r.Header.Get("Ktrdr-Fragment") != ""
	return s, nil
}

// readFacts asks for everything about a research that is kept with it. Files,
// which may have to be computed again, are asked for by sections of their own.
func (p *Pages) readFacts(ctx context.Context, id ktrdr.OperationID) (*facts, error) {
	f := &facts{history: map[ktrdr.OperationID][]ktrdr.CheckpointInfo{}}
	var err error
	if f.op, err = p.lab.Operation(ctx, id); err != nil {
		return nil, err
	}
	if f.spec, err = ktrdr.ParseSpec[research.Spec](f.op.Spec); err != nil {
		return nil, err
	}
	for from, to := range map[*json.RawMessage]any{&f.op.State: &f.state, &f.op.Result: &f.result} {
		if len(*from) > 0 {
			if err := json.Unmarshal(*from, to); err != nil {
				return nil, fmt.Errorf("%s: %w", id, err)
			}
		}
	}
	if err := f.readChildren(ctx, p.lab); err != nil {
		return nil, err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() (err error) {
		f.training, err = resultOf[jobs.TrainingResult](ctx, p.lab, f.state.TrainingOperation)
		return err
	})
	g.Go(func() (err error) {
		f.backtest, err = resultOf[jobs.BacktestResult](ctx, p.lab, f.state.BacktestOperation)
		return err
	})
	g.Go(func() (err error) {
		f.assessment, err = resultOf[research.Assessment](ctx, p.lab, f.state.AssessmentOperation)
		return err
	})
	g.Go(func() error { return f.readLedger(ctx, p.lab) })
	g.Go(func() error { return f.readHistory(ctx, p.lab) })
	g.Go(func() error { return f.readNote(ctx, p.lab) })
	g.Go(func() (err error) {
		f.talks, err = p.readTalks(ctx, id)
		return err
	})
	return f, g.Wait()
}

// resultOf is the result of a child, or nil as long as it has none.
func resultOf[T any](ctx context.Context, lab *client.Client, id ktrdr.OperationID) (*T, error) {
	if id == "" {
		return nil, nil //nolint:nilnil // a phase that has not begun has no result
	}
	r, _, err := lab.Results(ctx, id, nil, 0, "")
	if err != nil || r.Status != ktrdr.Completed {
		return nil, err
	}
	result := new(T)
	if err := json.Unmarshal(r.Results, result); err != nil {
		return nil, fmt.Errorf("result of %s: %w", id, err)
	}
	return result, nil
}

func (f *facts) readLedger(ctx context.Context, lab *client.Client) error {
	r, _, err := lab.Results(ctx, f.op.ID, nil, 0, "")
	if err != nil {
		return err
	}
	f.trial, f.looks, f.ladder, f.examined, f.calibration = r.Trial, r.Looks, r.Ladder, r.Examination, r.Calibration
	for _, l := range r.Looks {
		if l.Kind != ktrdr.LookConfirmation || l.EndedAt.IsZero() || len(l.Result) == 0 {
			continue
		}
		f.look = new(research.Confirmation)
		if err := json.Unmarshal(l.Result, f.look); err != nil {
			return fmt.Errorf("look at %s: %w", f.op.ID, err)
		}
	}
	return nil
}

func (f *facts) readChildren(ctx context.Context, lab *client.Client) error {
	page, err := lab.List(ctx, ktrdr.OperationQuery{Parent: f.op.ID, Sort: ktrdr.Oldest, Limit: 100})
	if err != nil {
		return err
	}
	f.children = page.Operations
	for _, child := range f.children { // a compacted research has no state
		switch child.Type {
		case ktrdr.Training:
			f.state.TrainingOperation = child.ID
		case ktrdr.Backtesting:
			f.state.BacktestOperation = child.ID
		case ktrdr.AgentAssessment:
			f.state.AssessmentOperation = child.ID
		}
	}
	return nil
}

// readNote reads from memory what a compacted research does not keep itself.
func (f *facts) readNote(ctx context.Context, lab *client.Client) error {
	if f.state.Strategy != "" || !f.ended() {
		return nil
	}
	row, err := lab.Experiment(ctx, f.op.ID)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil
	} else if err != nil {
		return err
	}
	note, err := read[struct {
		Strategy   string `json:"strategy_yaml"`
		Hypothesis string `json:"hypothesis"`
	}](row.Note)
	f.note.name, f.note.yaml, f.note.hypothesis = row.Strategy, note.Strategy, note.Hypothesis
	return err
}

func (f *facts) readHistory(ctx context.Context, lab *client.Client) (err error) {
	for _, child := range f.children {
		if f.history[child.ID], err = lab.History(ctx, child.ID); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether nothing of the research changes any more.
func (f *facts) ended() bool { return f.op.Status.Terminal() }

// view is the page of the facts.
func (f *facts) view(may, linear bool) *strategy {
	s := &strategy{
		ID: string(f.op.ID), Handle: f.op.ID.Tail(), Name: strategyName(cmp.Or(f.state.StrategyName, f.note.name)), Goal: f.spec.Brief,
		Created: f.op.CreatedAt, Ended: f.ended(), MadeUp: f.trial != nil && f.trial.MadeUp != nil && *f.trial.MadeUp,
		Designer: f.designer(), Talks: f.talks, Note: cmp.Or(f.state.Hypothesis, f.note.hypothesis),
	}
	var traded []string
	for _, b := range f.spec.Bars {
		traded = append(traded, b.Symbol+" "+string(b.Timeframe))
	}
	s.Symbol = strings.Join(traded, ", ")
	if !f.op.CompletedAt.IsZero() && !f.op.StartedAt.IsZero() {
		s.Took = lasted(f.op.CompletedAt.Sub(f.op.StartedAt))
	}
	s.State = fmt.Sprint(f.op.Status, f.op.Phase, f.look != nil)
	f.headline(s)
	if may {
		s.Actions = f.actions(time.Now())
	}
	s.Verdict, s.Ladder, s.Examined = f.verdict(), f.rungs(), f.examination()
	s.Equity, s.Months, s.Returns, s.Drawdowns = f.equity(linear), f.months(), f.returns(), f.drawdowns()
	s.Training, s.Figures = f.trainingFigures(), f.figures()
	s.YAML, s.Timeline, s.Reproduce = f.yaml(), f.timeline(), f.reproduce()
	if f.assessment != nil {
		s.Next = f.assessment.Hypotheses
	}
	if f.ended() && f.backtest != nil {
		s.Links = append(s.Links, link{"Compare", "/compare?ids=" + s.Handle})
	}
	if may && f.ended() {
		s.Links = append(s.Links, link{"Fork", "/new?from=" + s.Handle})
	}
	s.Links = append(s.Links, f.downloads()...)
	s.Lazy = f.lazy()
	s.sections()
	return s
}

func (f *facts) designer() string {
	switch {
	case f.spec.Strategy != "":
		return "given strategy"
	case f.result.Designer == "" || f.result.Designer == "builtin":
		return "built-in designer"
	}
	return f.result.Designer
}

// actions are what can be done with the research now.
func (f *facts) actions(now time.Time) []action {
	at, handle := "/strategies/"+string(f.op.ID)+"/", f.op.ID.Tail()
	act := func(name, verb string) action {
		return action{Name: name, Path: at + verb, Command: "ktrdr " + verb + " " + handle}
	}
	var list []action
	switch {
	case !f.ended():
		cancel := act("Cancel", "cancel")
		cancel.Ask = "Cancel this research? Its work so far is kept and can be resumed."
		return append(list, cancel)
	case f.op.Status != ktrdr.Completed && f.op.Checkpoint != nil:
		resume := act("Resume", "resume")
		resume.Main = true
		list = append(list, resume)
	}
	retry := act("Retry", "retry")
	retry.Fields = []field{retryKey(f.op.ID, now)}
	list = append(list, retry)
	switch {
	case f.op.Pinned:
		list = append(list, act("Unpin", "unpin"))
	case f.op.Status == ktrdr.Completed:
		list = append(list, act("Pin", "pin"))
	}
	return list
}

// sections are the links to what the page has.
func (s *strategy) sections() {
	add := func(name, id string, has bool) {
		if has {
			s.Sections = append(s.Sections, link{name, "#" + id})
		}
	}
	add("Verdict", "verdict", s.Verdict != nil)
	add("Ladder", "ladder", s.Ladder != nil)
	add("Examination", "examination", s.Examined != nil)
	add("Equity", "equity", s.Equity != nil)
	add("Months", "months", s.Months != nil)
	for _, l := range s.Lazy {
		add(l.Title, l.ID, true)
	}
	add("Training", "training", len(s.Training) > 0)
	add("Figures", "figures", len(s.Figures) > 0)
	add("Strategy file", "file", s.YAML != nil)
	add("Conversation", "talk", len(s.Talks) > 0)
	add("Timeline", "time", s.Timeline != nil)
}

// talk is a conversation with a model.
type talk struct {
	Phase, About string
	Turns        []turn
}

type turn struct {
	Role, Text string
	Error      bool
}

func (p *Pages) readTalks(ctx context.Context, id ktrdr.OperationID) ([]talk, error) {
	c, err := client.Call(ctx, p.lab, api.Conversation, api.ByID{ID: id})
	if err != nil {
		return nil, err
	}
	var list []talk
	for _, t := range c.Talks {
		shown := talk{
			Phase: phaseNames[t.Type],
			About: fmt.Sprintf("%s, %s, %s", strings.Join(t.Models, ", "), plural(t.Calls, "call"), dollars(t.USD)),
		}
		for _, said := range t.Turns {
			text := said.Text
			if said.Tool != "" {
				text = strings.TrimSpace(fmt.Sprintf("%s %s\n%s", said.Tool, said.Input, text))
			}
			shown.Turns = append(shown.Turns, turn{said.Role, cut(plain(text), longestTurn), said.Error})
		}
		list = append(list, shown)
	}
	return list, nil
}

// longestTurn bounds what is shown of one message: a page has at most 40 kB.
const longestTurn = 4000

var phaseNames = map[ktrdr.Type]string{
	ktrdr.AgentDesign: "design", ktrdr.Training: "training", ktrdr.Backtesting: "backtest", ktrdr.AgentAssessment: "assessment",
}
