package research

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
)

// QueueName is the queue that researches stand in.
const QueueName = "research"

// CodeBudgetExhausted refuses a research that would call a model when there is
// nothing left to pay it with.
const CodeBudgetExhausted = ktrdr.CodeBudget

// Blobs is what the desk needs of the blob store.
type Blobs interface {
	Put(ctx context.Context, want ktrdr.Hash, r io.Reader) (size int64, err error)
	Stat(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error)
}

// Ledger is what the desk needs of the notes.
type Ledger interface {
	Notes
	CountNotes(ctx context.Context, q ktrdr.NoteQuery) (map[string]int64, error)
	Horizon(ctx context.Context) (string, error)
	QueueCounts(ctx context.Context) ([]ktrdr.QueueCount, error)
}

// DeskConfig is what a desk is made of.
type DeskConfig struct {
	Library *market.Library
	Blobs   Blobs
	Ledger  Ledger
	// Strategy finds the text of a strategy by its name; CodeInvalid or
	// CodeNotFound says what there is instead.
	Strategy func(name string) ([]byte, error)

	Models []string                               // that can be asked for beside Builtin
	Budget func(context.Context) (float64, error) // US dollars left today; nil means none

	KernelClass string         // of new trainings; empty means that of the fastest kernel here
	Gates       *Gates         // nil means DefaultGates
	Rules       evidence.Rules // of verdicts; zero fields mean their defaults
	Holdout     float64        // share of the bars, at their end; 0 means 0.2
	Generation  int            // researches that do not know of each other; 0 means 8

	// Costs is what a design pays for trading a symbol; nil means
	// designer.UsualCosts.
	Costs func(symbol string) designer.CostHints
}

// Desk takes requests and makes researches of them. All that can be known to be
// wrong is said here, before anything is created. It is safe for concurrent use.
type Desk struct{ cfg DeskConfig }

// NewDesk makes a desk.
func NewDesk(c DeskConfig) (*Desk, error) {
	if c.Gates == nil {
		g := DefaultGates()
		c.Gates = &g
	}
	if c.Costs == nil {
		c.Costs = designer.UsualCosts
	}
	c.KernelClass = cmp.Or(c.KernelClass, neural.Best().Class())
	c.Holdout, c.Generation = cmp.Or(c.Holdout, 0.2), cmp.Or(c.Generation, 8)
	err := errors.Join(
		require(c.Library != nil && c.Blobs != nil && c.Ledger != nil && c.Strategy != nil, "a research desk needs a library, blobs, a ledger and strategies"),
		require(c.Holdout >= MinHoldout && c.Holdout <= MaxHoldout, "the holdout is %v of the bars; it must be %v to %v", c.Holdout, MinHoldout, MaxHoldout),
		require(c.Generation >= 1 && c.Generation <= MaxGeneration, "a generation has %d researches; it must have 1 to %d", c.Generation, MaxGeneration),
		c.Gates.Validate(), c.Rules.Validate(),
	)
	if err != nil {
		return nil, err
	}
	return &Desk{c}, nil
}

// Trigger asks for researches.
type Trigger struct {
	Brief         string    // the goal; empty means: anything that works
	Strategy      string    // name of a strategy to research instead of designing one
	StrategyYAML  string    // or its text
	Model         string    // that designs and assesses; empty means Builtin
	TriggerReason string    // empty means "start_new_cycle"
	BypassGates   bool      // go on whatever the gates say
	Force         bool      // wait for a turn where there is no room
	Count         int       // how many; 0 means 1, or a generation where there is an Until
	Until         time.Time // when no more generations are begun; zero means that there is but what Count says
	Seed          *uint64   // the run's; nil means one of its own
	Symbols       []string  // what to research; empty leaves it to the brief
	Timeframe     string
	Run           string // names the run, which is named once: only a repeated request names it again; empty makes a name
}

// Rest makes the researches of a run whose first was created before, by a
// request that was interrupted: pinned as it is, whatever has changed since. The
// first is among them, as it was.
func (d *Desk) Rest(t Trigger, first json.RawMessage) (Order, error) {
	spec, err := ktrdr.ParseSpec[Spec](first)
	if err != nil {
		return Order{}, fmt.Errorf("the first research of run %s: %w", t.Run, err)
	}
	t.Count, t.Until = d.count(t), time.Time{} // its time may be over by now
	if err := t.check(); err != nil {
		return Order{}, err
	}
	t.Run, t.Seed, t.Until = spec.Run, &spec.RunSeed, spec.Until
	about := subject{brief: spec.Understanding}
	if spec.Strategy != "" {
		s, err := readStrategy(spec.Strategy, "given")
		if err != nil {
			return Order{}, wrong("%w", err)
		}
		about.name = s.Name
		for _, w := range s.warnings {
			about.warnings = append(about.warnings, w.String())
		}
	}
	return d.run(t, spec, spec.Trials.Count-1, about) // the first of all: those before it are those before the run
}

// Order is a run of researches, ready to be created in their order.
type Order struct {
	Run        string
	Seed       uint64 // of the run
	Operations []ktrdr.NewOperation
	Understood []string // what was read out of the brief
	Warnings   []string
}

// The bounds of a request.
const (
	MaxCount = 10_000
	maxSeed  = 1 << 53 // the largest whole number that every reader of JSON keeps
)

// The bounds of a desk's settings.
const (
	MaxGeneration = 64
	MinHoldout    = 0.05
	MaxHoldout    = 0.5
)

// wrong is a request that must be changed.
func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }

// Trigger makes researches of a request. CodeInvalid says what to change,
// CodeBudgetExhausted that there is no money for the model asked for.
func (d *Desk) Trigger(ctx context.Context, t Trigger) (Order, error) {
	t.Count, t.Model = d.count(t), cmp.Or(t.Model, Builtin)
	t.TriggerReason = cmp.Or(t.TriggerReason, "start_new_cycle")
	if err := t.check(); err != nil {
		return Order{}, err
	}
	budget, err := d.budget(ctx, t.Model)
	if err != nil {
		return Order{}, err
	}
	plan, err := d.subject(t)
	if err != nil {
		return Order{}, err
	}
	parts, err := d.cut(ctx, plan.symbols, plan.frames)
	if err != nil {
		return Order{}, err
	}
	spec := Spec{
		Brief: t.Brief, Understanding: plan.brief, Strategy: plan.text, Model: t.Model, TriggerReason: clip(t.TriggerReason, maxText),
		BypassGates: t.BypassGates, KernelClass: d.cfg.KernelClass, Bars: parts.research, Holdout: parts.holdout, Searched: parts.searched, Sealed: parts.sealed,
		Costs: d.costs(plan.symbols), Gates: *d.cfg.Gates, Rules: d.cfg.Rules, Budget: Budget{budget},
	}
	before, err := d.pinMemory(ctx, &spec)
	if err != nil {
		return Order{}, err
	}
	return d.run(t, spec, before, plan)
}

// costs are those of the dearest of the symbols: one design trades all of them.
func (d *Desk) costs(symbols []string) designer.CostHints {
	var dearest designer.CostHints
	for _, symbol := range symbols {
		if c := d.cfg.Costs(symbol); c.PerSide() >= dearest.PerSide() {
			dearest = c
		}
	}
	return dearest
}

// count is how many researches are created at once.
func (d *Desk) count(t Trigger) int {
	if t.Until.IsZero() {
		return cmp.Or(t.Count, 1)
	}
	return cmp.Or(t.Count, d.cfg.Generation)
}

// check says what is wrong with a request by itself.
func (t Trigger) check() error {
	switch {
	case len(t.Brief) > MaxBrief:
		return wrong("the brief has %d bytes; at most %d are allowed: say the goal in fewer words", len(t.Brief), MaxBrief)
	case ktrdr.CleanText(t.Brief) != t.Brief:
		return wrong("the brief is not text: it holds bytes that are no UTF-8, or a NUL")
	case !t.Until.IsZero() && t.Count > MaxGeneration:
		return wrong("count is %d; of a run that lasts until a time it is the size of a generation, which is at most %d", t.Count, MaxGeneration)
	case !t.Until.IsZero() && (time.Until(t.Until) <= 0 || time.Until(t.Until) > maxNight):
		return wrong("until %s is no time within the next %d days: give one that is", t.Until.Format(time.RFC3339), maxNight/(24*time.Hour))
	case t.Count < 1 || t.Count > MaxCount:
		return wrong("count is %d; it must be 1 to %d", t.Count, MaxCount)
	case t.Seed != nil && *t.Seed > maxSeed:
		return wrong("seed is %d; at most %d is allowed", *t.Seed, uint64(maxSeed))
	case t.Strategy != "" && t.StrategyYAML != "":
		return wrong("the strategy is given by name and by text: give one of them")
	case len(t.Run) > 64 || strings.ContainsAny(t.Run, "/ \n") || ktrdr.CleanText(t.Run) != t.Run:
		return wrong("run %.40q is no name: at most 64 bytes, without blanks and slashes", t.Run)
	}
	return nil
}

// budget is what a research may spend. What needs no model costs nothing.
func (d *Desk) budget(ctx context.Context, model string) (float64, error) {
	if model == Builtin {
		return 0, nil
	}
	if !slices.Contains(d.cfg.Models, model) {
		known := append([]string{Builtin}, d.cfg.Models...)
		return 0, wrong("there is no model %.60q; there is %s. %s needs no key; others are set where the backend runs, as KTRDR_MODELS=anthropic/MODEL with the key in ANTHROPIC_API_KEY",
			model, strings.Join(known, ", "), Builtin)
	}
	var left float64
	if d.cfg.Budget != nil {
		var err error
		if left, err = d.cfg.Budget(ctx); err != nil {
			return 0, err
		}
	}
	if left <= 0 {
		return 0, ktrdr.Errorf(CodeBudgetExhausted, "the budget for models is used up or zero, so %s cannot be asked: raise the budget, wait for tomorrow, or use the model %s, which costs nothing", model, Builtin)
	}
	return left, nil
}

// pinMemory sets what the researches may remember, how often their holdout was
// opened, and how many trials there are before them: those that were made, and
// one for every research that is under way or waits. Of two runs side by side
// the later is judged for both.
func (d *Desk) pinMemory(ctx context.Context, spec *Spec) (before int, err error) {
	if spec.Horizon, err = d.cfg.Ledger.Horizon(ctx); err != nil {
		return 0, err
	}
	counts, err := d.cfg.Ledger.CountNotes(ctx, ktrdr.NoteQuery{Kind: NoteTrial, Horizon: spec.Horizon})
	if err != nil {
		return 0, err
	}
	before = int(counts[NoteTrial])
	if spec.Openings.Known, err = NewMemory(d.cfg.Ledger).known(ctx, spec, ktrdr.NoteQuery{Horizon: spec.Horizon}, ""); err != nil {
		return 0, err
	}
	queues, err := d.cfg.Ledger.QueueCounts(ctx)
	for _, q := range queues {
		if q.Name == QueueName {
			before += q.Active + q.Waiting
		}
	}
	return before, err
}

// run makes the researches of a run. Each is counted against luck together with
// all before the run and all of the run: the verdict on the first is as strict
// as that on the last. Of a run that lasts until a time nobody knows how many
// there will be; see evidence.Spend.
func (d *Desk) run(t Trigger, spec Spec, before int, about subject) (Order, error) {
	order := Order{Run: t.Run, Seed: uint64(before) + 1, Understood: about.brief.Understood, Warnings: about.warnings}
	if t.Seed != nil {
		order.Seed = *t.Seed
	}
	if order.Run == "" {
		var tail [8]byte
		_, _ = rand.Read(tail[:]) // never fails since Go 1.24
		order.Run = "run_" + hex.EncodeToString(tail[:])
	}
	spec.RunSeed, spec.Until, spec.Size = order.Seed, t.Until.UTC(), d.cfg.Generation
	if !t.Until.IsZero() {
		spec.Size = t.Count
	}
	for i := range t.Count {
		spec.Seed = num.Mix(order.Seed, uint64(i)) % maxSeed
		spec.Place = Place{order.Run, i / spec.Size, i % spec.Size}
		spec.count(before, t.Count)
		op, err := operation(spec, about.name, t.Force || t.Count > 1 || !t.Until.IsZero())
		if err != nil {
			return Order{}, err
		}
		order.Operations = append(order.Operations, op)
	}
	return order, nil
}

// count sets what is counted against a research of a run of so many, or of a
// generation of so many where the run lasts until a time.
func (s *Spec) count(before, size int) {
	first := s.Generation * s.Size // of its generation
	s.Trials = evidence.Trials{Count: before + first + s.Index + 1, Planned: before + size}
	s.Openings.Own = evidence.OwnOpenings(min(s.Size, size-first), before+first)
	s.Openings.Last = first+s.Size >= size
	if !s.Until.IsZero() {
		s.Trials.Planned = evidence.Spend(before, s.Size, s.Generation)
		s.Openings.Own, s.Openings.Last = evidence.OwnOpenings(s.Size, before+first), false
	}
}

// operation makes the request that creates a research.
func operation(spec Spec, strategyName string, force bool) (ktrdr.NewOperation, error) {
	if err := spec.Validate(); err != nil {
		return ktrdr.NewOperation{}, wrong("%w", err)
	}
	text, err := encode(spec)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("research spec: %w", err)
	}
	metadata, err := encode(Listing{
		Brief: clip(spec.Brief, maxText), Strategy: strategyName, Model: spec.Model, TriggerReason: spec.TriggerReason,
		Seed: spec.Seed, Until: spec.Until, Place: spec.Place,
	})
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("research metadata: %w", err)
	}
	return ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, BackendLocal: true, HasPlan: true, Spec: text, Metadata: metadata,
		Queue: &ktrdr.Queue{Name: QueueName, Force: force, Run: spec.Run, Generation: spec.Generation, Index: spec.Index},
	}, nil
}

// Listing is what lists show of a research that has not begun: its metadata.
type Listing struct {
	Brief         string    `json:"brief,omitempty"`
	Strategy      string    `json:"strategy_name,omitempty"`
	Model         string    `json:"model"`
	TriggerReason string    `json:"trigger_reason"`
	Seed          uint64    `json:"seed"`
	Until         time.Time `json:"until,omitzero"` // how long its run lasts
	Place
}
