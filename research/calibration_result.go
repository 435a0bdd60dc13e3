package research

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

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
	// that each strategy paid at least, of a trade's value; null: an earlier version measured it
	CostPerSide *float64     `json:"cost_per_side"`
	Worlds      int          `json:"worlds"`
	Claimed     int          `json:"worlds_with_a_claim"`
	Rate        float64      `json:"false_claim_rate"`
	Low         float64      `json:"low"` // 95 % interval of the rate
	High        float64      `json:"high"`
	Finalists   int          `json:"worlds_with_a_finalist"`
	Sharpes     []float64    `json:"luckiest_sharpes"` // one for each world that judged a research, ascending
	Power       []PowerPoint `json:"power,omitempty"`
	Least       *float64     `json:"least_sharpe_found"`         // that is found with 80 % probability; null: Why says it
	Why         string       `json:"least_sharpe_why,omitempty"` // Least is null
	Hash        ktrdr.Hash   `json:"result_hash"`
	MadeUp      *bool        `json:"made_up"`
}

// Luckiest is a quantile of the luckiest Sharpe ratios; nil: no world has one. At least that
// share of them is not above it.
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

// Quote says in a few sentences what stands beside a claim: what a calibration measured, and by which
// search. The rate of small or expensive searches is low, and says little of larger ones. See Stale.
func (c *Calibration) Quote(bars int) string {
	said := fmt.Sprintf("This lab claimed an edge on %d of %d copies of this market without one: %.1f %% (95 %% interval %.1f to %.1f %%).",
		c.Claimed, c.Worlds, 100*c.Rate, 100*c.Low, 100*c.High)
	said += fmt.Sprintf(" Each copy was searched with %s of %s %s", researches(c.Researches), c.Symbol, c.Timeframe)
	if c.CostPerSide != nil {
		said += fmt.Sprintf(", at costs of %.3g basis points per side", instrument.BasisPoints**c.CostPerSide)
	}
	said += "."
	if rare := c.Luckiest(0.95); rare != nil {
		said += fmt.Sprintf(" On at least 95 %% of the copies the luckiest Sharpe ratio was at most %.2f.", *rare)
	}
	if c.Least != nil {
		said += fmt.Sprintf(" A planted edge with a net Sharpe ratio of %.2f was found with 80 %% probability.", *c.Least)
	}
	if why := c.Stale(bars); why != "" {
		said += fmt.Sprintf(" This calibration is stale: %s. Repeat it with `ktrdr calibrate %s %s`.", why, c.Symbol, c.Timeframe)
	}
	return said
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
		Version: s.Version, Researches: s.Researches, CostPerSide: new(s.Search.Costs.PerSide()), Worlds: s.Worlds, Sharpes: []float64{},
		MadeUp: jobs.AnyMadeUp(s.Search.Bars),
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
