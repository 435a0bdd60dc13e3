package research

import (
	"cmp"
	"context"
	"errors"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// FactoryVersion names the search as a calibration measured it. Raise it when designs,
// trainings, gates, verdicts or copies change: figures of two versions are not
// comparable.
const FactoryVersion = "3"

// CalibrationRequest asks how often this lab claims an edge on copies of a market that
// have none.
type CalibrationRequest struct {
	Symbol     string  `json:"symbol"`
	Timeframe  string  `json:"timeframe"`
	Researches int     `json:"researches,omitempty" zero:"refused"` // of each search; absent means 8
	Worlds     int     `json:"worlds,omitempty" zero:"refused"`     // copies without an edge; absent means 99
	Power      bool    `json:"power,omitempty"`                     // also plant edges, to find the weakest that is found
	Seed       *uint64 `json:"seed,omitempty"`
	// cost floors in basis points: SYMBOL=COMMISSION/SLIPPAGE/SPREAD, comma separated; * is every other symbol
	Costs string `json:"costs,omitempty"`
}

// The bounds of a calibration.
const (
	MaxWorlds           = 10_000
	MaxWorldResearches  = 200
	usualWorlds         = 99
	usualResearches     = 8
	calibrationPriority = -10 // what a person started goes first
)

// plantedStrengths are the strengths of planted edges: the drift of a bar after a
// stretched close, in standard deviations of a bar.
var plantedStrengths = []float64{0.1, 0.2, 0.3, 0.45, 0.65}

// CalibrationSpec is all that a calibration needs.
type CalibrationSpec struct {
	Search     Spec      `json:"search"` // of the search, with the research part of the market; the holdout is no part of it
	Researches int       `json:"researches"`
	Worlds     int       `json:"worlds"`              // copies without an edge
	Strengths  []float64 `json:"strengths,omitempty"` // of planted edges
	Planted    int       `json:"planted,omitempty"`   // copies of each strength
	Holdout    float64   `json:"holdout"`             // share of each copy that its looks are at
	Seed       uint64    `json:"seed"`
	Version    string    `json:"factory_version"`
	Size       int       `json:"bars"`        // of the market, in the research part
	MarketBars int       `json:"market_bars"` // with those of the holdout
}

// CalibrationPartSpec is some of the worlds of a calibration. The bars are those of the
// calibration's search.
type CalibrationPartSpec struct {
	CalibrationSpec
	From int `json:"from"` // the first world
	To   int `json:"to"`   // the first that is left to another part
}

// Validate says what is wrong with the spec.
func (s CalibrationSpec) Validate() error {
	return errors.Join(
		require(s.Researches >= 1 && s.Researches <= MaxWorldResearches, "researches is %d; it must be 1 to %d", s.Researches,
			MaxWorldResearches),
		require(s.Worlds >= 1 && s.Worlds <= MaxWorlds, "worlds is %d; it must be 1 to %d", s.Worlds, MaxWorlds),
		require(len(s.Search.Bars) > 0 && len(s.Search.Holdout) == 0,
			"it names %d series of bars and %d of the holdout; the holdout is no part of it",
			len(s.Search.Bars), len(s.Search.Holdout)),
		require(s.Search.Model == Builtin, "model is %q; a calibration has the built-in designer only", s.Search.Model),
		require(s.Holdout >= MinHoldout && s.Holdout <= MaxHoldout, "holdout is %v; it must be %v to %v", s.Holdout, MinHoldout, MaxHoldout),
		require(s.Version == FactoryVersion, "factory_version is %s, and this program has %s: start the calibration again", s.Version,
			FactoryVersion),
		s.Search.Gates.Validate(), s.Search.Rules.Validate(),
	)
}

// Validate says what is wrong with the spec.
func (s CalibrationPartSpec) Validate() error {
	return errors.Join(s.CalibrationSpec.Validate(),
		require(s.From >= 0 && s.From < s.To && s.To <= s.All(), "it has the worlds from %d to %d of %d", s.From, s.To, s.All()))
}

// All is the number of worlds: those without an edge first, then each strength.
func (s CalibrationSpec) All() int { return s.Worlds + len(s.Strengths)*s.Planted }

// Strength is that of the edge planted into a world; 0: it has none.
func (s CalibrationSpec) Strength(world int) float64 {
	if world < s.Worlds || s.Planted == 0 {
		return 0
	}
	return s.Strengths[(world-s.Worlds)/s.Planted]
}

// WorldSeed is the seed of a world.
func (s CalibrationSpec) WorldSeed(world int) uint64 { return num.Mix(s.Seed, uint64(world)) }

// Calibrate makes the operation of a calibration. CodeInvalid says what to change.
func (d *Desk) Calibrate(ctx context.Context, r CalibrationRequest) (jobs.Accepted, error) {
	if r.Symbol == "" || r.Timeframe == "" {
		return jobs.Accepted{}, wrong("a calibration needs a symbol and a timeframe, such as EURUSD 1h")
	}
	planned, err := d.Trigger(ctx, Request{
		Symbols: []string{r.Symbol}, Timeframe: r.Timeframe, Costs: r.Costs, Seed: r.Seed, Fresh: true, Force: true, Model: Builtin,
	})
	if err != nil {
		return jobs.Accepted{}, err
	}
	search, err := ktrdr.ParseSpec[Spec](planned.Operations[0].Spec)
	if err != nil {
		return jobs.Accepted{}, err
	}
	traded := search.Bars[0]
	series, _, err := d.open(ctx, []string{traded.Symbol}, []market.Timeframe{traded.Timeframe}, nil)
	if err != nil {
		return jobs.Accepted{}, err
	}
	size := CutAt(series[0], search.HoldoutFrom.Unix())
	if size < minBars*2 {
		return jobs.Accepted{}, wrong("the research part of %s %s has %d bars, and each copy of it is divided again: a calibration needs %d; "+
			"import more", r.Symbol, r.Timeframe, size, minBars*2)
	}
	s := CalibrationSpec{
		Search: search, Researches: cmp.Or(r.Researches, usualResearches), Worlds: cmp.Or(r.Worlds, usualWorlds),
		Holdout: d.cfg.Holdout, Seed: planned.Seed, Version: FactoryVersion, Size: size, MarketBars: series[0].Len(),
	}
	s.Search.Holdout, s.Search.Sealed = nil, nil
	s.Search.Run, s.Search.Generation, s.Search.Index = "calibration", 0, 0
	if r.Power {
		s.Strengths, s.Planted = plantedStrengths, max(10, s.Worlds/3)
	}
	if err := s.Validate(); err != nil {
		return jobs.Accepted{}, wrong("%w", err)
	}
	spec, err := encode(s)
	if err != nil {
		return jobs.Accepted{}, err
	}
	metadata, err := encode(calibrationListing{
		Symbols: r.Symbol, Timeframes: r.Timeframe, Market: s.market(), Worlds: s.All(), MadeUp: jobs.AnyMadeUp(search.Bars),
	})
	return jobs.Accepted{
		Operation: ktrdr.NewOperation{Type: ktrdr.Calibration, HasPlan: true, Priority: calibrationPriority, Spec: spec, Metadata: metadata},
		Warnings:  planned.Warnings,
	}, err
}

// calibrationListing is what lists show of a calibration.
type calibrationListing struct {
	Symbols    string `json:"symbols"`
	Timeframes string `json:"timeframes"`
	Market     string `json:"market"`
	Worlds     int    `json:"worlds"`
	MadeUp     *bool  `json:"made_up"`
}

func (s CalibrationSpec) market() string {
	if len(s.Search.Markets) == 0 {
		return ""
	}
	return s.Search.Markets[0].Market
}
