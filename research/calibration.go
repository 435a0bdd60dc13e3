package research

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
)

// FactoryVersion names the search as a calibration measured it. Raise it when designs,
// trainings, gates, verdicts or copies change: figures of two versions are not
// comparable.
const FactoryVersion = "2"

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

// SearchedWorld is what the search of one world came to.
type SearchedWorld struct {
	World     int      `json:"world"`
	Strength  float64  `json:"strength,omitempty"`    // of the planted edge
	Known     *float64 `json:"rule_sharpe,omitempty"` // net Sharpe ratio per year of a rule that knows the planted edge
	Sharpe    *float64 `json:"luckiest_sharpe"`       // on the test part, per year; null: no research was judged
	Score     *float64 `json:"best_score"`
	Finalists int      `json:"finalists"`
	Looks     int      `json:"looks"`
	Claims    int      `json:"claims"`
}

// CalibrationPart is what a part ends with.
type CalibrationPart struct {
	Summary string          `json:"summary"`
	Worlds  []SearchedWorld `json:"worlds"`
}

// PowerPoint is how often edges of one strength were found.
type PowerPoint struct {
	Strength float64  `json:"strength"`
	Sharpe   *float64 `json:"rule_sharpe"` // median over the worlds, of a rule that knows the edge
	Worlds   int      `json:"worlds"`
	Found    int      `json:"found"` // worlds with a claim
	Low      float64  `json:"low"`   // 95 % interval of the probability
	High     float64  `json:"high"`
}

// Calibration is what a calibration ends with.
type Calibration struct {
	Summary    string           `json:"summary"`
	Symbol     string           `json:"symbol"`
	Timeframe  market.Timeframe `json:"timeframe"`
	Market     string           `json:"market"`
	Bars       int              `json:"bars"`        // of the research part
	MarketBars int              `json:"market_bars"` // with those of the holdout
	Version    string           `json:"factory_version"`
	Researches int              `json:"researches"`
	Worlds     int              `json:"worlds"`
	Claimed    int              `json:"worlds_with_a_claim"`
	Rate       float64          `json:"false_claim_rate"`
	Low        float64          `json:"low"` // 95 % interval of the rate
	High       float64          `json:"high"`
	Finalists  int              `json:"worlds_with_a_finalist"`
	Sharpes    []float64        `json:"luckiest_sharpes"` // one for each world that judged a research, ascending
	Power      []PowerPoint     `json:"power,omitempty"`
	Least      *float64         `json:"least_sharpe_found"`         // that is found with 80 % probability; null: Why says it
	Why        string           `json:"least_sharpe_why,omitempty"` // Least is null
	Hash       ktrdr.Hash       `json:"result_hash"`
	MadeUp     *bool            `json:"made_up"`
}

// Luckiest is a quantile of the luckiest Sharpe ratios; nil: no world has one.
func (c *Calibration) Luckiest(share float64) *float64 {
	if len(c.Sharpes) == 0 {
		return nil
	}
	return new(c.Sharpes[min(int(share*float64(len(c.Sharpes))), len(c.Sharpes)-1)])
}

// muchMore is how many more bars a market may have before its calibration is stale.
const muchMore = 1.25

// Stale says why a calibration no longer describes the market; "" if it does. bars is how
// many the market has now in its research part; 0: not known.
func (c *Calibration) Stale(bars int) string {
	switch {
	case c.Version != FactoryVersion:
		return fmt.Sprintf("it measured version %s of the search, and this program has version %s", c.Version, FactoryVersion)
	case float64(bars) > muchMore*float64(c.MarketBars):
		return fmt.Sprintf("the market had %d bars then and has %d now", c.MarketBars, bars)
	}
	return ""
}

// Quote is the sentence about a calibration that stands beside a claim. See Stale.
func (c *Calibration) Quote(bars int) string {
	said := fmt.Sprintf("This lab claimed an edge on %d of %d copies of this market without one: %.1f %% (95 %% interval %.1f to %.1f %%).",
		c.Claimed, c.Worlds, 100*c.Rate, 100*c.Low, 100*c.High)
	if why := c.Stale(bars); why != "" {
		said += fmt.Sprintf(" This calibration is stale: %s. Repeat it with `ktrdr calibrate %s %s`.", why, c.Symbol, c.Timeframe)
	}
	return said
}

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
	if n := mostBars(search.Bars); n < minBars*2 {
		return jobs.Accepted{}, wrong("the research part of %s %s has about %d bars, and each copy of it is divided again: a "+
			"calibration needs %d; "+
			"import more", r.Symbol, r.Timeframe, n, minBars*2)
	}
	s := CalibrationSpec{
		Search: search, Researches: cmp.Or(r.Researches, usualResearches), Worlds: cmp.Or(r.Worlds, usualWorlds),
		Holdout: d.cfg.Holdout, Seed: planned.Seed, Version: FactoryVersion, Size: mostBars(search.Bars),
		MarketBars: mostBars(search.Bars) + mostBars(search.Holdout),
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

// result puts the worlds of all parts together, in their order.
func (s CalibrationSpec) result(worlds []SearchedWorld) (*Calibration, error) {
	slices.SortFunc(worlds, func(a, b SearchedWorld) int { return a.World - b.World })
	if len(worlds) != s.All() {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "its parts searched %d worlds, not %d", len(worlds), s.All())
	}
	bars := s.Search.Bars[0]
	c := &Calibration{
		Symbol: bars.Symbol, Timeframe: bars.Timeframe, Market: s.market(), Bars: s.Size, MarketBars: s.MarketBars,
		Version: s.Version, Researches: s.Researches, Worlds: s.Worlds, Sharpes: []float64{}, MadeUp: jobs.AnyMadeUp(s.Search.Bars),
	}
	for _, w := range worlds[:s.Worlds] {
		if w.Claims > 0 {
			c.Claimed++
		}
		if w.Finalists > 0 {
			c.Finalists++
		}
		if w.Sharpe != nil {
			c.Sharpes = append(c.Sharpes, *w.Sharpe)
		}
	}
	slices.Sort(c.Sharpes)
	c.Rate = float64(c.Claimed) / float64(c.Worlds)
	c.Low, c.High = evidence.BinomialInterval(c.Claimed, c.Worlds)
	c.power(s, worlds)
	c.Summary = c.sentence()
	var err error
	c.Hash, err = hashJSON(struct {
		Version string          `json:"factory_version"`
		Data    []ktrdr.Hash    `json:"data"`
		Seed    uint64          `json:"seed"`
		Worlds  []SearchedWorld `json:"worlds"`
	}{s.Version, hashes(s.Search.Bars), s.Seed, worlds})
	return c, err
}

func (c *Calibration) sentence() string {
	said := fmt.Sprintf("%s on %d copies of %s %s without an edge, %s each: %.1f %% false claims (95 %% interval %.1f to %.1f %%)",
		text.Counted(c.Claimed, "claim"), c.Worlds, c.Symbol, c.Timeframe, researches(c.Researches), 100*c.Rate, 100*c.Low, 100*c.High)
	if half, rare := c.Luckiest(0.5), c.Luckiest(0.95); half != nil {
		said += fmt.Sprintf("; luckiest Sharpe ratio of a copy: median %.2f, 95 %% are below %.2f", *half, *rare)
	}
	switch {
	case c.Least != nil:
		said += fmt.Sprintf("; an edge with a net Sharpe ratio of %.2f is found with 80 %% probability", *c.Least)
	case c.Why != "":
		said += "; " + c.Why
	}
	return said + "."
}

func researches(n int) string {
	if n == 1 {
		return "1 research"
	}
	return fmt.Sprintf("%d researches", n)
}

// enoughPower is the probability with which an edge counts as found.
const enoughPower = 0.8

// power measures how often planted edges were found, and where that reaches enoughPower:
// by a straight line between the strengths, the shares made rising before.
func (c *Calibration) power(s CalibrationSpec, worlds []SearchedWorld) {
	for k, strength := range s.Strengths {
		p := PowerPoint{Strength: strength, Worlds: s.Planted}
		var known []float64
		for _, w := range worlds[s.Worlds+k*s.Planted : s.Worlds+(k+1)*s.Planted] {
			if w.Claims > 0 {
				p.Found++
			}
			if w.Known != nil {
				known = append(known, *w.Known)
			}
		}
		if slices.Sort(known); len(known) > 0 {
			p.Sharpe = new(known[len(known)/2])
		}
		p.Low, p.High = evidence.BinomialInterval(p.Found, p.Worlds)
		c.Power = append(c.Power, p)
	}
	if len(c.Power) == 0 {
		return
	}
	c.Least, c.Why = leastFound(c.Power)
}

func leastFound(points []PowerPoint) (*float64, string) {
	var beforeShare, beforeSharpe float64
	for i, p := range points {
		share := max(beforeShare, float64(p.Found)/float64(p.Worlds))
		switch {
		case p.Sharpe == nil:
			continue
		case share >= enoughPower && (i == 0 || share <= beforeShare):
			return p.Sharpe, ""
		case share >= enoughPower:
			part := (enoughPower - beforeShare) / (share - beforeShare)
			return new(beforeSharpe + float64(part*(*p.Sharpe-beforeSharpe))), ""
		}
		beforeShare, beforeSharpe = share, *p.Sharpe
	}
	return nil, fmt.Sprintf("no planted edge was found with 80 %% probability; the strongest has a net Sharpe ratio of %.2f", beforeSharpe)
}

// CalibrationStore is where calibrations are read.
type CalibrationStore interface {
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Market(ctx context.Context, id string) (ktrdr.Market, error)
}

// Calibrations are the newest calibrations first, of a market or symbol, or of all.
func (v Views) Calibrations(ctx context.Context, market string) ([]CalibrationRow, error) {
	return calibrations(ctx, v.Engine, market)
}

func calibrations(ctx context.Context, store CalibrationStore, market string) ([]CalibrationRow, error) {
	rows := []CalibrationRow{}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.Calibration}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1000}
	for {
		page, err := store.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for _, op := range page.Operations {
			c, err := resultOf[Calibration](&op)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", op.ID, err)
			}
			if market != "" && c.Market != market && !strings.EqualFold(c.Symbol, market) {
				continue
			}
			bars, err := barsNow(ctx, store, &c)
			if err != nil {
				return nil, err
			}
			rows = append(rows, CalibrationRow{Operation: op.ID, Calibration: c, Stale: c.Stale(bars), Quote: c.Quote(bars)})
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return rows, nil
		}
	}
}

// barsNow is how many bars the market of a calibration has now; 0: unknown.
func barsNow(ctx context.Context, store CalibrationStore, c *Calibration) (bars int, err error) {
	m, err := store.Market(ctx, c.Market)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound { // it was merged into another
		return 0, nil
	}
	for _, s := range m.Series {
		if s.Symbol == c.Symbol && s.Timeframe == string(c.Timeframe) {
			bars = max(bars, s.Bars)
		}
	}
	return bars, err
}

// CalibrationQuote is the sentence about the newest calibration of markets, which stands
// beside a claim.
func (v Views) CalibrationQuote(ctx context.Context, markets []ktrdr.LookMarket) (string, error) {
	return CalibrationQuote(ctx, v.Engine, text.Map(markets, func(m ktrdr.LookMarket) string { return m.Market })...)
}

// CalibrationQuote is the same of a store.
func CalibrationQuote(ctx context.Context, store CalibrationStore, markets ...string) (string, error) {
	for _, m := range markets {
		rows, err := calibrations(ctx, store, m)
		if err != nil {
			return "", err
		}
		if len(rows) > 0 {
			return rows[0].Quote, nil
		}
	}
	series := "SYMBOL TIMEFRAME"
	if len(markets) > 0 {
		m, err := store.Market(ctx, markets[0])
		if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
			return "", err
		}
		if len(m.Series) > 0 {
			series = m.Series[0].Symbol + " " + m.Series[0].Timeframe
		}
	}
	return "This lab was never calibrated on this market: `ktrdr calibrate " + series + "` measures how often it claims falsely.", nil
}

// quote puts the sentence about calibrations beside a claim.
func (v Views) quote(ctx context.Context, e *ExperimentRow) (err error) {
	if e.Trial != nil && e.Trial.Claim {
		e.Calibration, err = v.CalibrationQuote(ctx, []ktrdr.LookMarket{{Market: e.Trial.Market}})
	}
	return err
}

// CalibrationRow is a calibration that completed.
type CalibrationRow struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Quote     string            `json:"quote"`           // the sentence that stands beside claims on the market
	Stale     string            `json:"stale,omitempty"` // why it no longer describes the market
	Calibration
}
