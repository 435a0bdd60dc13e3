package research

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// QueueName is the queue that researches stand in.
const QueueName = "research"

// CodeBudgetExhausted refuses a research whose model cannot be paid.
const CodeBudgetExhausted = ktrdr.CodeBudget

// Horizon is what the desk needs of the notes.
type Horizon interface {
	Horizon(ctx context.Context) (string, error)
}

// Markets says which market bars belong to and where its holdout begins.
type Markets interface {
	// Of returns the market of a series. CodeConflict says that a person has
	// to decide whether it is a known one.
	Of(ctx context.Context, b *market.Bars) (ktrdr.Market, error)
	// Known is Of for a series that is assigned already; CodeNotFound.
	Known(ctx context.Context, b *market.Bars) (ktrdr.Market, error)
	// FixHoldout sets where the holdout of a market begins unless that is set,
	// and returns what is set.
	FixHoldout(ctx context.Context, market string, from time.Time) (time.Time, error)
	// RenewHoldouts replaces holdouts by later ones, all or none; CodeConflict when
	// another request or look was faster.
	RenewHoldouts(ctx context.Context, renew []ktrdr.NewHoldout) error
}

// DeskConfig is what a desk is made of.
type DeskConfig struct {
	Library *library.Library
	Blobs   library.Blobs
	Memory  Horizon
	Markets Markets

	Operations Operations // creates the researches
	Designs    Designs    // those that wait for an assistant; nil: no assistant designs
	History    History    // what estimates are made from; nil: none are made

	Limit func([]ktrdr.Worker) int // how many researches may be active; nil means 1

	// Strategy finds the text of a strategy by its name; CodeInvalid or
	// CodeNotFound says what there is instead.
	Strategy func(ctx context.Context, name string) ([]byte, error)

	Models       []string                               // that can be asked for beside Builtin
	DefaultModel string                                 // for a request that names none; empty means Builtin
	Budget       func(context.Context) (float64, error) // US dollars left today; nil means none

	Allows    func() error               // refuses new researches; nil refuses none
	HoldsAKey func(texts ...string) bool // says whether a text holds the key of a provider of models; nil: none does

	KernelClass string         // of new trainings: see neural.Kernel
	Gates       *Gates         // nil means DefaultGates
	Rules       evidence.Rules // of verdicts; zero fields mean their defaults
	Holdout     float64        // share of the bars, at their end; 0 means 0.2
	Generation  int            // researches that do not know of each other; 0 means 8

	// Costs are the cost floors that the backend was started with. A request
	// and the file of instruments win over them; a symbol that none of them
	// names has the default of its asset class.
	Costs instrument.Table
	// Instruments reads the file of instruments, once for each request; nil means
	// that there is no such file.
	Instruments func(ctx context.Context) (instrument.File, error)
}

// Desk takes requests and makes researches of them. All that can be known to be
// wrong is said here, before anything is created. It is safe for concurrent use.
type Desk struct{ cfg DeskConfig }

// NewDesk makes a desk.
func NewDesk(c DeskConfig) (*Desk, error) {
	c.Gates = cmp.Or(c.Gates, new(DefaultGates()))
	c.Holdout, c.Generation = cmp.Or(c.Holdout, 0.2), cmp.Or(c.Generation, 8)
	err := errors.Join(
		require(c.Library != nil && c.Blobs != nil && c.Memory != nil && c.Markets != nil && c.Strategy != nil && c.KernelClass != "",
			"a research desk needs a library, blobs, memory, markets, strategies and a class of kernels"),
		require(c.Holdout >= MinHoldout && c.Holdout <= MaxHoldout, "the holdout is %v of the bars; it must be %v to %v", c.Holdout,
			MinHoldout, MaxHoldout),
		require(c.Generation >= 1 && c.Generation <= MaxGeneration, "a generation has %d researches; it must have 1 to %d",
			c.Generation, MaxGeneration),
		c.Gates.Validate(), c.Rules.Validate(),
	)
	if err != nil {
		return nil, err
	}
	return &Desk{c}, nil
}

// Request asks for researches: of a goal in words, or of a strategy.
type Request struct {
	Brief         string    `json:"brief,omitempty"`         // the goal; empty means anything that works
	Strategy      string    `json:"strategy,omitempty"`      // name of a strategy, instead of designing one
	StrategyYAML  string    `json:"strategy_yaml,omitempty"` // or its text
	Model         string    `json:"model,omitempty"`         // that designs and assesses; empty means builtin, which costs nothing
	TriggerReason string    `json:"trigger_reason,omitempty"`
	BypassGates   bool      `json:"bypass_gates,omitempty"`         // continue whatever the gates say
	Fresh         bool      `json:"fresh,omitempty"`                // start without memory of earlier runs
	Test          bool      `json:"test,omitempty"`                 // test the whole run on permuted copies when it has ended; needs fresh
	Force         bool      `json:"force,omitempty"`                // wait for a turn where there is no room; several always do
	RefuseUnknown bool      `json:"refuse_unknown,omitempty"`       // refuse a brief of which nothing is understood; else that is a warning
	Count         int       `json:"count,omitempty" zero:"refused"` // how many; absent means 1, or a generation with until
	Until         time.Time `json:"until,omitzero"`                 // keep beginning generations until then
	Seed          *uint64   `json:"seed,omitempty"`
	Symbols       []string  `json:"symbols,omitempty"`    // researched together: one account each with the same share of the capital
	Timeframe     string    `json:"timeframe,omitempty"`  // or timeframes
	Timeframes    []string  `json:"timeframes,omitempty"` // decisions are made at the shortest; designs may also read the others
	// cost floors of this run in basis points: SYMBOL=COMMISSION/SLIPPAGE/SPREAD, comma separated; * is every other symbol
	Costs string `json:"costs,omitempty"`
	// replace the holdout by a later one with a budget of its own: it begins at this date, after the bars of every look, and is
	// at least as long; empty: the newest holdout stays
	HoldoutFrom string `json:"holdout_from,omitempty"`
	// assistant: an AI assistant gives the strategies, by the Model Context Protocol; empty: the model designs
	Designer string `json:"designer,omitempty"`
	// with designer assistant: how long a research waits for a strategy before the built-in designer takes over; absent means 30 minutes
	DesignWait float64 `json:"design_wait_seconds,omitempty" zero:"refused"`

	// check everything and create nothing: the answer has a preview instead of operations
	DryRun bool `json:"dry_run,omitempty"`

	Run string `json:"-"` // names the run: only a repeated request names it again; empty makes a name
}

// Rest makes the researches of a run whose request was interrupted after the first
// was created. All are pinned as the first is, which is among them.
func (d *Desk) Rest(t Request, first json.RawMessage) (PlannedRun, error) {
	spec, err := ktrdr.ParseSpec[Spec](first)
	if err != nil {
		return PlannedRun{}, fmt.Errorf("the first research of run %s: %w", t.Run, err)
	}
	t.Count, t.Until = d.count(t), time.Time{} // its time may be over by now
	if err := t.check(); err != nil {
		return PlannedRun{}, err
	}
	t.Run, t.Seed, t.Until = spec.Run, &spec.RunSeed, spec.Until
	about := subject{brief: spec.Understanding}
	if spec.Strategy != "" {
		s, err := readStrategy(spec.Strategy, "given")
		if err != nil {
			return PlannedRun{}, wrong("%w", err)
		}
		about.name, about.warnings = s.Name, text.Map(s.warnings, strategy.Warning.String)
	}
	return d.run(t, spec, about)
}

// PlannedRun is a run of researches, ready to be created in their order.
type PlannedRun struct {
	Run        string
	Seed       uint64 // of the run
	Operations []ktrdr.NewOperation
	Understood []string // what was read out of the brief
	Warnings   []string

	NotUnderstood []string // content words of the brief that had no effect
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

func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }

// Trigger makes researches of a request. CodeInvalid says what to change,
// CodeBudgetExhausted that there is no money for the model asked for.
func (d *Desk) Trigger(ctx context.Context, t Request) (PlannedRun, error) {
	c, err := d.checked(ctx, t)
	if err != nil {
		return PlannedRun{}, err
	}
	plan := c.about
	parts, err := d.cut(ctx, plan.symbols, plan.frames, plan.context, c.renew)
	if err != nil {
		return PlannedRun{}, err
	}
	plan = c.measure(parts)
	spec := Spec{
		Brief: c.Brief, Understanding: plan.brief, Strategy: plan.text, Model: c.Model, TriggerReason: clip(c.TriggerReason, maxText),
		BypassGates: c.BypassGates, AssistantWait: c.assistantWait(), KernelClass: d.cfg.KernelClass,
		Bars: parts.research, Holdout: parts.holdout, Searched: parts.searched,
		Sealed:      parts.sealed,
		HoldoutFrom: parts.from, Markets: parts.markets, ContextMarkets: parts.context,
		Costs: Dearest(c.costs), SymbolCosts: c.costs, Gates: *d.cfg.Gates, Rules: d.cfg.Rules.WithDefaults(), Budget: Budget{c.budget},
		Data: parts.data, DataWarnings: c.doubts,
	}
	if !t.Fresh {
		if spec.Horizon, err = d.cfg.Memory.Horizon(ctx); err != nil {
			return PlannedRun{}, err
		}
	}
	return d.run(c.Request, spec, plan)
}

// checkedRequest is a request in which nothing is known to be wrong, but for its
// bars.
type checkedRequest struct {
	Request // with its defaults
	budget  float64
	about   subject
	costs   []SymbolCosts
	file    instrument.File // of instruments
	doubts  []string        // about the bars
	renew   time.Time       // where new holdouts begin; zero: none are asked for
}

// measure brings the spreads of the bars into the costs, and what the bars warn of.
func (c *checkedRequest) measure(p parts) subject {
	var warnings []string
	c.costs, warnings = measured(c.costs, p.spreads)
	c.doubts = survivors(p.traded, p.library, c.file)
	c.about.warnings = slices.Concat(c.about.warnings, warnings, c.doubts, p.renewal.kept)
	return c.about
}

func (d *Desk) checked(ctx context.Context, t Request) (c checkedRequest, err error) {
	if d.cfg.Allows != nil {
		if err := d.cfg.Allows(); err != nil {
			return c, err
		}
	}
	// people paste more than they mean to
	if d.cfg.HoldsAKey != nil && d.cfg.HoldsAKey(t.Brief, t.Strategy, t.StrategyYAML, t.Model, t.TriggerReason, t.Costs) {
		return c, wrong("the request holds the key of a provider of models, and would be kept and sent to models with it: " +
			"take it out, and make a new key if others may have seen it")
	}
	t.Count, t.Model = d.count(t), cmp.Or(t.Model, d.cfg.DefaultModel, Builtin)
	t.TriggerReason = cmp.Or(t.TriggerReason, "start_new_cycle")
	if err := t.check(); err != nil {
		return c, err
	}
	c.Request = t
	if c.renew, err = t.holdoutDay(); err != nil {
		return c, err
	}
	if c.budget, err = d.budget(ctx, t.Model); err != nil {
		return c, err
	}
	if c.about, err = d.subject(ctx, t); err != nil {
		return c, err
	}
	var warnings []string
	if c.file, err = d.instruments(ctx); err != nil {
		return c, err
	}
	if c.costs, warnings, err = d.costs(ctx, t, c.about, c.file); err != nil {
		return c, err
	}
	c.about.warnings = append(c.about.warnings, warnings...)
	told, err := d.agree(ctx, c.about)
	c.about.warnings = append(c.about.warnings, told...)
	return c, err
}

func (d *Desk) count(t Request) int {
	if t.Until.IsZero() {
		return cmp.Or(t.Count, 1)
	}
	return cmp.Or(t.Count, d.cfg.Generation)
}

func (t Request) check() error {
	switch {
	case len(t.Brief) > MaxBrief:
		return wrong("the goal has %d bytes; at most %d are allowed: say it in fewer words", len(t.Brief), MaxBrief)
	case ktrdr.CleanText(t.Brief) != t.Brief:
		return wrong("the goal is not text: it holds bytes that are no UTF-8, or a NUL")
	case !t.Until.IsZero() && t.Count > MaxGeneration:
		return wrong("count is %d; of a run that lasts until a time it is the size of a generation, which is at most %d", t.Count, MaxGeneration)
	case !t.Until.IsZero() && (time.Until(t.Until) <= 0 || time.Until(t.Until) > maxLasting):
		return wrong("until %s is no time within the next %d days: give one that is", t.Until.Format(time.RFC3339), maxLasting/(24*time.Hour))
	case t.Count < 1 || t.Count > MaxCount:
		return wrong("count is %d; it must be 1 to %d", t.Count, MaxCount)
	case t.Seed != nil && *t.Seed > maxSeed:
		return wrong("seed is %d; at most %d is allowed", *t.Seed, uint64(maxSeed))
	case t.Timeframe != "" && len(t.Timeframes) > 0:
		return wrong("timeframe and timeframes are given both: give one of them")
	case t.Test && !t.Fresh:
		return wrong("test needs fresh: copies are searched without memory, so the run must start without it too; add --fresh")
	case t.Test && (t.BypassGates || t.Designer != "" || t.Model != "" && t.Model != Builtin):
		return wrong("test needs the built-in designer and all gates: only that search can be repeated on copies; " +
			"leave out --model, --designer and --bypass-gates, or --test")
	case t.Test && t.Count > MaxTested:
		return wrong("count is %d; a run with test has at most %d researches, because each copy is searched as often", t.Count, MaxTested)
	case t.Strategy != "" && t.StrategyYAML != "":
		return wrong("the strategy is given by name and by text: give one of them")
	case len(t.Run) > 64 || strings.ContainsAny(t.Run, "/ \n") || ktrdr.CleanText(t.Run) != t.Run:
		return wrong("run %.40q is no name: at most 64 bytes, without blanks and slashes", t.Run)
	}
	return t.checkDesigner()
}

// budget is what a research may spend. What needs no model costs nothing.
func (d *Desk) budget(ctx context.Context, model string) (float64, error) {
	if model == Builtin {
		return 0, nil
	}
	if !slices.Contains(d.cfg.Models, model) {
		known := append([]string{Builtin}, d.cfg.Models...)
		return 0, wrong("there is no model %.60q; %s. %s needs no key; others are set where the backend runs, "+
			"as KTRDR_MODELS=anthropic/MODEL with the key in ANTHROPIC_API_KEY",
			model, text.Choices(model, known), Builtin)
	}
	var left float64
	if d.cfg.Budget != nil {
		var err error
		if left, err = d.cfg.Budget(ctx); err != nil {
			return 0, err
		}
	}
	if left <= 0 {
		return 0, ktrdr.Errorf(CodeBudgetExhausted, "the budget for models is used up or zero, so %s cannot be asked: raise the budget, "+
			"wait for tomorrow, or use the model %s, which costs nothing", model, Builtin)
	}
	return left, nil
}

func (d *Desk) run(t Request, spec Spec, about subject) (PlannedRun, error) {
	order := PlannedRun{Run: t.Run, Understood: about.brief.Understood, Warnings: about.warnings}
	if spec.Model == Builtin { // a model is given the words themselves
		order.NotUnderstood = about.brief.NotUnderstood
	}
	if order.Run == "" {
		var tail [8]byte
		_, _ = rand.Read(tail[:]) // never fails since Go 1.24
		order.Run = "run_" + hex.EncodeToString(tail[:])
	}
	order.Seed = seedOf(order.Run)
	if t.Seed != nil {
		order.Seed = *t.Seed
	}
	spec.Run, spec.RunSeed, spec.Until, spec.Size = order.Run, order.Seed, t.Until.UTC(), d.cfg.Generation
	if !t.Until.IsZero() {
		spec.Size = t.Count
	}
	row, err := runOf(t, spec)
	if err != nil {
		return PlannedRun{}, err
	}
	for i := range t.Count {
		op, err := spec.At(i).operation(about.name, t.Force || t.Count > 1 || !t.Until.IsZero(), row)
		if err != nil {
			return PlannedRun{}, err
		}
		order.Operations = append(order.Operations, op)
	}
	return order, nil
}

func seedOf(run string) uint64 {
	sum := sha256.Sum256([]byte(run))
	return binary.BigEndian.Uint64(sum[:8]) % maxSeed
}

func runOf(t Request, spec Spec) (*ktrdr.NewRun, error) {
	request, err := encode(t)
	if err != nil {
		return nil, fmt.Errorf("request of run %s: %w", spec.Run, err)
	}
	return &ktrdr.NewRun{
		Goal: clip(spec.Brief, maxText), Request: request, Until: spec.Until, Size: spec.Size, Planned: t.Count,
		MadeUp: jobs.AnyMadeUp(spec.Bars),
	}, nil
}

// At is the spec of the i-th research of the run.
func (s Spec) At(i int) Spec {
	s.Seed = num.Mix(s.RunSeed, uint64(i)) % maxSeed
	s.RunPosition = RunPosition{s.Run, i / s.Size, i % s.Size}
	return s
}

// OwnTrials is how many trials of its own run are counted against a research. Each
// research of a run counts all of the run: the verdict on the first is as strict as
// that on the last. A run that lasts until a time has no known size: see
// evidence.OpenEndedTrials.
func (s Spec) OwnTrials(planned int) int {
	if s.Until.IsZero() {
		return planned
	}
	return evidence.OpenEndedTrials(0, s.Size, s.Generation)
}

// trial counts a research on its markets.
func (s Spec) trial(planned int) *ktrdr.NewTrial {
	t := &ktrdr.NewTrial{Own: s.OwnTrials(planned), MadeUp: jobs.AnyMadeUp(s.Bars)}
	for _, m := range s.Markets {
		one := ktrdr.TrialMarket{Market: m.Market, Symbols: m.Symbol}
		for _, b := range s.Bars {
			if b.Symbol == m.Symbol && !b.Context {
				one.Timeframes = strings.TrimSpace(one.Timeframes + " " + string(b.Timeframe))
			}
		}
		t.Markets = append(t.Markets, one)
	}
	if len(t.Markets) > 1 { // lists show the first row: it names all
		for _, m := range t.Markets[1:] {
			t.Markets[0].Symbols += " " + m.Symbols
		}
	}
	return t
}

func (s Spec) operation(strategyName string, force bool, run *ktrdr.NewRun) (ktrdr.NewOperation, error) {
	if err := s.Validate(); err != nil {
		return ktrdr.NewOperation{}, wrong("%w", err)
	}
	text, err := encode(s)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("research spec: %w", err)
	}
	metadata, err := encode(Listing{
		Brief: clip(s.Brief, maxText), Strategy: strategyName, Model: s.Model, TriggerReason: s.TriggerReason,
		Seed: s.Seed, Until: s.Until, MadeUp: jobs.AnyMadeUp(s.Bars), RunPosition: s.RunPosition,
		Symbols:    distinct(jobs.TradedBars(s.Bars), func(b jobs.Bars) string { return b.Symbol }),
		Timeframes: distinct(s.Bars, func(b jobs.Bars) string { return string(b.Timeframe) }),
	})
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("research metadata: %w", err)
	}
	return ktrdr.NewOperation{
		Type: ktrdr.AgentResearch, HasPlan: true, Spec: text, Metadata: metadata,
		Queue:  &ktrdr.Queue{Name: QueueName, Force: force, Run: s.Run, Generation: s.Generation, Index: s.Index},
		NewRun: run, Trial: s.trial(run.Planned),
	}, nil
}

// Listing is what lists show of a research that has not begun: its metadata.
type Listing struct {
	Brief         string    `json:"brief,omitempty"`
	Strategy      string    `json:"strategy_name,omitempty"`
	Model         string    `json:"model"`
	TriggerReason string    `json:"trigger_reason"`
	Seed          uint64    `json:"seed"`
	Until         time.Time `json:"until,omitzero"`       // how long its run lasts
	MadeUp        *bool     `json:"made_up"`              // its prices, or some of them, were made up; null: not known
	Symbols       string    `json:"symbols,omitempty"`    // separated by blanks
	Timeframes    string    `json:"timeframes,omitempty"` // the same
	RunPosition
}

// distinct names each symbol or timeframe of bars once.
func distinct(bars []jobs.Bars, name func(jobs.Bars) string) string {
	var names []string
	for _, b := range bars {
		if !slices.Contains(names, name(b)) {
			names = append(names, name(b))
		}
	}
	return strings.Join(names, " ")
}
