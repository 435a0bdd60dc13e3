package research

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// Builtin names the designer and assessor that need no key and no network.
const Builtin = "builtin"

// Place is where a research stands in its run.
type Place struct {
	Run        string `json:"run"`
	Generation int    `json:"generation"`
	Index      int    `json:"index"` // in its generation
}

// Key names the place among all.
func (p Place) Key() string { return fmt.Sprintf("%s/%d/%d", p.Run, p.Generation, p.Index) }

// Spec is all that a research needs, pinned when it is created. The result is a
// function of it and, as far as Horizon reaches, of memory.
type Spec struct {
	Brief         string         `json:"brief"`
	Understanding designer.Brief `json:"understanding"`
	Strategy      string         `json:"strategy_yaml,omitempty"` // given: nothing is designed
	Model         string         `json:"model"`                   // that designs and assesses
	TriggerReason string         `json:"trigger_reason"`
	BypassGates   bool           `json:"bypass_gates"`

	Seed        uint64 `json:"seed"`
	RunSeed     uint64 `json:"run_seed"` // that the seeds of a run are made from
	KernelClass string `json:"kernel_class"`
	Place
	Horizon string          `json:"horizon"` // which notes of other runs count
	Trials  evidence.Trials `json:"trials"`  // how often luck is tried, all in all

	Bars    []jobs.Bars `json:"bars"`    // what research may see
	Holdout []jobs.Bars `json:"holdout"` // the bars after them, for the assessment alone

	Costs  designer.CostHints `json:"costs"`
	Gates  Gates              `json:"gates"`
	Rules  evidence.Rules     `json:"rules"`
	Budget Budget             `json:"budget"`
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
	Place
	Horizon string             `json:"horizon"`
	Bars    []jobs.Bars        `json:"bars"`
	Costs   designer.CostHints `json:"costs"`
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
}

// AssessmentSpec is all that an assessment needs. Of a research that a gate
// refused there is nothing to measure: Files is nil, and so the holdout stays
// out of reach.
type AssessmentSpec struct {
	Strategy   string `json:"strategy_name"`
	Hypothesis string `json:"hypothesis,omitempty"`
	Model      string `json:"model"`
	Seed       uint64 `json:"seed"`
	Place
	Gates     []GateResult    `json:"gates"`
	Training  TrainingFigures `json:"training"`
	Collapsed bool            `json:"collapsed"`
	Trials    evidence.Trials `json:"trials"`
	Rules     evidence.Rules  `json:"rules"`
	Files     *Exhibits       `json:"files,omitempty"`
}

// Exhibits are what an assessment looks at.
type Exhibits struct {
	Model    ktrdr.Artifact `json:"model"`
	Backtest ktrdr.Artifact `json:"backtest"`
	Symbol   string         `json:"symbol"`
	Bars     []jobs.Bars    `json:"bars"`
	Holdout  []jobs.Bars    `json:"holdout"`
}

// Assessment is what an assessment ends with.
type Assessment struct {
	Summary       string            `json:"summary"` // for people
	Strategy      string            `json:"strategy_name"`
	Verdict       evidence.Level    `json:"verdict"`
	Claim         bool              `json:"claim"` // an edge is claimed
	Reasons       []evidence.Reason `json:"reasons"`
	Figures       *evidence.Figures `json:"figures,omitempty"` // nil where nothing was measured
	HoldoutOpened bool              `json:"holdout_opened"`
	Strengths     []string          `json:"strengths"`
	Weaknesses    []string          `json:"weaknesses"`
	Suggestions   []string          `json:"suggestions"`
	Hypotheses    []Hypothesis      `json:"hypotheses"` // for the next round
}

// Hypothesis is something to find out.
type Hypothesis struct {
	Text      string `json:"text"`
	Rationale string `json:"rationale"`
}

// The bounds of what a research carries with it, in every state and note of it.
const (
	MaxBrief    = 64 << 10
	maxStrategy = 32 << 10 // as a JSON string
	maxText     = 2 << 10
	maxList     = 16
)

// Parse reads a spec and refuses what does not belong into it: a spec that was
// written for another version must not half work.
func Parse[T interface{ Validate() error }](text json.RawMessage) (spec T, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&spec); err != nil {
		return spec, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: %w", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return spec, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: there is more after the JSON object")
	}
	if err := spec.Validate(); err != nil {
		return spec, ktrdr.Errorf(ktrdr.CodeInvalid, "spec: %w", err)
	}
	return spec, nil
}

// Validate says what is wrong with the spec.
func (s Spec) Validate() error {
	return errors.Join(
		require(len(s.Brief) <= MaxBrief, "brief has %d bytes; at most %d are allowed", len(s.Brief), MaxBrief),
		require(s.Model != "", "model is empty"),
		require(len(s.Bars) > 0 && len(s.Holdout) == len(s.Bars), "it names %d series of bars and %d of the holdout", len(s.Bars), len(s.Holdout)),
		s.check(), s.Gates.Validate(), s.Rules.Validate(),
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

func (p Place) check() error {
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

// encode writes JSON as it is stored. Markup is not escaped: it would only make
// a strategy longer.
func encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSpace(b.Bytes()), nil
}

// clip shortens a text for a place where only so much of it is wanted, and makes
// it storable.
func clip(s string, most int) string {
	s = ktrdr.CleanText(s)
	if len(s) <= most {
		return s
	}
	s = s[:most]
	for len(s) > 0 && !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s + "…"
}

// readStrategy parses a strategy and refuses one that is too long to be carried
// along.
func readStrategy(text, name string) (*strategy.Strategy, []strategy.Warning, error) {
	if quoted, err := encode(text); err != nil || len(quoted) > maxStrategy {
		return nil, nil, fmt.Errorf("strategy %s is longer than the %d bytes that one in a research may have", name, maxStrategy)
	}
	return strategy.Parse([]byte(text), name)
}

// What the training of one strategy may take, by its own estimate.
const (
	maxMemory = 4 << 30
	maxCPU    = 24 * time.Hour
)

// affordable refuses a strategy whose training would take a machine down, or a
// night, before anything is allocated.
func affordable(s *strategy.Strategy, bars int) error {
	if err := s.Cost(bars).Check(maxMemory, maxCPU); err != nil {
		return fmt.Errorf("strategy %s: %w", s.Name, err)
	}
	return nil
}

// barSize is about how many bytes of a bars file are one bar.
const barSize = 6 * 8

// barsOf picks the series that a strategy reads, in its order.
func barsOf(s *strategy.Strategy, all []jobs.Bars, symbols []string) ([]jobs.Bars, error) {
	var picked []jobs.Bars
	var missing []string
	for _, symbol := range symbols {
		for _, tf := range s.Data.Timeframes {
			found := false
			for _, b := range all {
				if b.Symbol == symbol && b.Timeframe == tf {
					picked, found = append(picked, b), true
				}
			}
			if !found {
				missing = append(missing, fmt.Sprintf("%s %s", symbol, tf))
			}
		}
	}
	if len(missing) > 0 {
		return nil, fmt.Errorf("strategy %s reads %s, and the research was not given these bars", s.Name, strings.Join(missing, ", "))
	}
	return picked, nil
}
