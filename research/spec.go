package research

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
)

// Builtin names the designer and assessor that need no key and no network.
const Builtin = "builtin"

// RunPosition is where a research stands in its run.
type RunPosition struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Index      int    `json:"index"` // in its generation
}

// Key names the place among all.
func (p RunPosition) Key() string { return fmt.Sprintf("%s/%d/%d", p.Run, p.Generation, p.Index) }

// Spec is all that a research needs, pinned when it is created. The result is a
// function of it and, as far as Horizon reaches, of memory.
type Spec struct {
	Brief         string         `json:"brief"`
	Understanding designer.Brief `json:"understanding"`
	Strategy      string         `json:"strategy_yaml,omitempty"` // given: nothing is designed
	Model         string         `json:"model"`                   // that designs and assesses
	TriggerReason string         `json:"trigger_reason"`
	BypassGates   bool           `json:"bypass_gates"`
	AssistantWait float64        `json:"assistant_wait_seconds,omitempty"` // how long it waits for a strategy; 0: no assistant designs

	Seed        uint64 `json:"seed"`
	RunSeed     uint64 `json:"run_seed"` // that the seeds of a run are made from
	KernelClass string `json:"kernel_class"`
	RunPosition
	Size    int       `json:"generation_size"` // of the run's generations
	Until   time.Time `json:"until,omitzero"`  // no generation of the run starts after this
	Horizon string    `json:"horizon"`         // which notes of other runs count; empty: none

	Bars        []jobs.Bars    `json:"bars"`                  // what research may see
	Holdout     []jobs.Bars    `json:"holdout"`               // the bars after them, for the confirmation alone
	Searched    []Span         `json:"searched"`              // what the first are
	Sealed      []Span         `json:"sealed"`                // and the second
	HoldoutFrom time.Time      `json:"holdout_from,omitzero"` // trading of the holdout begins here
	Markets     []SymbolMarket `json:"markets,omitempty"`     // whose ledgers it counts in

	// ContextMarkets are those of the context symbols. A research is no trial there; a
	// look at the holdout reads their bars, and is counted there too.
	ContextMarkets []SymbolMarket `json:"context_markets,omitempty"`

	Data         []SeriesFacts `json:"data,omitempty"`          // where the prices come from
	DataWarnings []string      `json:"data_warnings,omitempty"` // for people

	Costs       instrument.Costs `json:"costs"`                  // what a design is written for: those of the dearest symbol
	SymbolCosts []SymbolCosts    `json:"symbol_costs,omitempty"` // the floor of each symbol
	Gates       Gates            `json:"gates"`
	Rules       evidence.Rules   `json:"rules"`
	Budget      Budget           `json:"budget"`

	legacySpec
}

// SymbolMarket is the market of a symbol.
type SymbolMarket struct {
	Symbol string `json:"symbol"`
	Market string `json:"market"`
}

// legacySpec is what earlier versions wrote into a spec, which is still finished.
type legacySpec struct {
	Trials   *legacyTrials   `json:"trials,omitempty"`
	Openings json.RawMessage `json:"openings,omitempty"`
}

type legacyTrials struct {
	Count   int `json:"count"`
	Planned int `json:"planned"`
}

func (l legacySpec) trials() int {
	if l.Trials == nil {
		return 0
	}
	return max(l.Trials.Count, l.Trials.Planned)
}

// Budget is what a research may spend on models, in US dollars.
type Budget struct {
	Limit float64 `json:"limit_usd"`
}

// DesignSpec is all that a design needs. The holdout is no part of it.
type DesignSpec struct {
	Brief         string         `json:"brief"`
	Understanding designer.Brief `json:"understanding"`
	Model         string         `json:"model"`
	Seed          uint64         `json:"seed"`
	RunPosition
	Horizon string           `json:"horizon"`
	Bars    []jobs.Bars      `json:"bars"`
	Sealed  time.Time        `json:"sealed_from,omitzero"` // where the holdout begins
	Costs   instrument.Costs `json:"costs"`
	Budget  Budget           `json:"budget"`

	AssistantWait float64 `json:"assistant_wait_seconds,omitempty"` // see Spec
}

// View is what the design may know of others.
func (s DesignSpec) View() View {
	symbols := text.Map(jobs.TradedBars(s.Bars), func(b jobs.Bars) string { return b.Symbol })
	return View{Run: s.Run, Generation: s.Generation, Horizon: s.Horizon, Symbols: symbols, Sealed: s.Sealed}
}

// Design is what a design ends with.
type Design struct {
	Summary    string           `json:"summary"` // for people
	Name       string           `json:"strategy_name"`
	Strategy   string           `json:"strategy_yaml"`
	Notes      string           `json:"notes"`
	Hypothesis string           `json:"hypothesis"`
	Key        string           `json:"key,omitempty"` // identifies what the strategy means
	Genome     *designer.Genome `json:"genome,omitempty"`
	Tests      *HypothesisNote  `json:"tests,omitempty"` // the hypothesis of an earlier research that it tests

	Designer  string          `json:"designer"`            // the model, or Builtin
	Prompt    string          `json:"prompt,omitempty"`    // and its version, that a model was given
	Instead   string          `json:"instead,omitempty"`   // why the model that was asked for did not do it
	Decisions []llm.TraceStep `json:"decisions,omitempty"` // about models, on the way
}

// AssessmentSpec is all that an assessment needs. Of a research that a gate
// refused there is nothing to measure: Files is nil.
type AssessmentSpec struct {
	Strategy   string `json:"strategy_name"`
	Hypothesis string `json:"hypothesis,omitempty"`
	Model      string `json:"model"`
	Seed       uint64 `json:"seed"`
	RunPosition
	Gates     []GateResult    `json:"gates"`
	Training  TrainingFigures `json:"training"`
	Collapsed bool            `json:"collapsed"`
	Counted   int             `json:"trials_counted"` // trials that the verdict is adjusted for
	Rules     evidence.Rules  `json:"rules"`
	Budget    Budget          `json:"budget"`
	Files     *AssessedFiles  `json:"files,omitempty"`
	MadeUp    *bool           `json:"made_up,omitempty"` // prices of the research were made up; nil: not known

	legacySpec
}

// TrialsCounted is how many trials the verdict is adjusted for.
func (s AssessmentSpec) TrialsCounted() int { return max(s.Counted, s.trials(), 1) }

// AssessedFiles are what an assessment looks at.
type AssessedFiles struct {
	Model    ktrdr.Artifact `json:"model"`
	Backtest ktrdr.Artifact `json:"backtest"`
	Symbol   string         `json:"symbol,omitempty"` // where one was traded; of several the bars tell
	Bars     []jobs.Bars    `json:"bars"`
	Costs    []PaidCosts    `json:"costs,omitempty"` // that the backtest paid for each symbol; the training part is traded at the same

	LegacyHoldout json.RawMessage `json:"holdout,omitempty"` // as earlier versions wrote it; not read
	LegacySealed  json.RawMessage `json:"sealed,omitempty"`
}

// Assessment is what an assessment ends with.
type Assessment struct {
	Summary     string            `json:"summary"` // for people
	Strategy    string            `json:"strategy_name"`
	Verdict     evidence.Level    `json:"verdict"`
	Finalist    bool              `json:"finalist"` // every check on the test part passed
	Reasons     []evidence.Reason `json:"reasons"`
	Figures     *evidence.Figures `json:"figures,omitempty"` // nil where nothing was measured
	Strengths   []string          `json:"strengths"`
	Weaknesses  []string          `json:"weaknesses"`
	Suggestions []string          `json:"suggestions"`
	Hypotheses  []Hypothesis      `json:"hypotheses"`        // for the next round
	MadeUp      *bool             `json:"made_up,omitempty"` // its prices, or some of them, were made up; nil: not known

	// Lines are the account and buy-and-hold on the parts that the search saw. They
	// follow from what the result hash covers, and are no part of it.
	Lines *AssessedLines `json:"lines,omitempty"`

	Assessor  string          `json:"assessor"` // who worded it: the model, or Builtin
	Prompt    string          `json:"prompt,omitempty"`
	Instead   string          `json:"instead,omitempty"`
	Decisions []llm.TraceStep `json:"decisions,omitempty"`
}

// AssessedLines are what is drawn of an assessment.
type AssessedLines struct {
	InSample *evidence.Sketch `json:"in_sample,omitempty"` // nil where the training part was not traded
	Test     *evidence.Sketch `json:"test,omitempty"`
}

// Hypothesis is something to find out. It never describes the holdout.
type Hypothesis struct {
	Text      string `json:"text"`
	Rationale string `json:"rationale"`
	Code      string `json:"code,omitempty"` // of the check or gate that it came from
}

// The bounds of what a research carries with it, in every state and note of it.
const (
	MaxBrief    = 64 << 10
	maxStrategy = 32 << 10 // as a JSON string
	maxText     = 2 << 10
	maxList     = 16
)

// Validate says what is wrong with the spec.
func (s Spec) Validate() error {
	return errors.Join(
		require(len(s.Brief) <= MaxBrief, "the goal has %d bytes; at most %d are allowed", len(s.Brief), MaxBrief),
		require(s.Model != "", "model is empty"),
		require(len(s.Bars) > 0 && len(s.Holdout) == len(s.Bars), "it names %d series of bars and %d of the holdout",
			len(s.Bars), len(s.Holdout)),
		s.check(), s.checkCosts(), s.Gates.Validate(), s.Rules.Validate(),
	)
}

// Validate says what is wrong with the spec.
func (s DesignSpec) Validate() error {
	return errors.Join(require(s.Model != "", "model is empty"), require(len(s.Bars) > 0, "there are no bars"), s.check())
}

// Validate says what is wrong with the spec.
func (s AssessmentSpec) Validate() error {
	return errors.Join(require(s.Model != "", "model is empty"), s.check(), s.Rules.Validate())
}

func (p RunPosition) check() error {
	return errors.Join(
		require(p.Run != "", "run is empty"),
		require(p.Generation >= 0 && p.Index >= 0, "generation %d, index %d: both count from 0", p.Generation, p.Index),
	)
}

func require(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

// encode writes JSON as it is stored, without escaping markup.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

func clip(s string, most int) string {
	return text.Cut(ktrdr.CleanText(s), most)
}
