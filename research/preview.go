package research

import (
	"context"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// History is what estimates are made from: *engine.Engine.
type History interface {
	TrialPoints(ctx context.Context, q ktrdr.TrialQuery) ([]ktrdr.TrialPoint, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	InQueue(ctx context.Context, name string, most int) (ktrdr.QueueState, error)
	Workers(ctx context.Context) ([]ktrdr.Worker, error)
}

// Preview is what a request would start: the answer to a dry run.
type Preview struct {
	Count      int             `json:"count"` // researches; with until, those of a generation
	Model      string          `json:"model"`
	Strategy   string          `json:"strategy_name,omitempty"` // of one that was given
	Symbols    []string        `json:"symbols"`
	Timeframe  string          `json:"timeframe"`  // that decisions are made at
	Timeframes []string        `json:"timeframes"` // that designs may read
	Series     []PreviewSeries `json:"series"`

	Nearest map[string]string `json:"did_you_mean,omitempty"` // known words, by those that were not understood

	// Trials and looks are those of the market that had most.
	Trials      int `json:"market_trials"`
	TrialsAfter int `json:"market_trials_after"` // that verdicts are adjusted for then; with until, in the first generation
	Looks       int `json:"market_looks"`
	// LuckBefore is the Sharpe ratio that the best of the trials on the market
	// shows by luck, and LuckAfter that of as many as there are counted then. They
	// are null before the first backtest; in standard errors they are known.
	LuckBefore    *float64 `json:"luck_before"`
	LuckAfter     *float64 `json:"luck_after"`
	LuckBeforeZ   float64  `json:"luck_before_z"`
	LuckAfterZ    float64  `json:"luck_after_z"`
	StandardError *float64 `json:"standard_error"` // median of the Sharpe ratios on the market
	NeededP       float64  `json:"needed_p"`       // of the next look at the holdout, to claim an edge

	Seconds *float64 `json:"estimated_seconds"` // until all have ended, as recent researches took; null: not known
	Active  int      `json:"active"`            // researches now
	Waiting int      `json:"waiting"`
	Limit   int      `json:"limit"` // of active researches
}

// PreviewSeries is a series that would be researched.
type PreviewSeries struct {
	Symbol      string    `json:"symbol"`
	Timeframe   string    `json:"timeframe"`
	Searched    int       `json:"searched_bars"`
	Sealed      int       `json:"holdout_bars"`
	HoldoutFrom time.Time `json:"holdout_from"`
	Context     bool      `json:"context,omitempty"` // it is read and not traded
	CostPerSide float64   `json:"cost_per_side_bp"`  // the floor, in basis points of a trade's value
	MadeUp      *bool     `json:"made_up"`           // null: not known

	Costs *SymbolCosts `json:"costs,omitempty"` // the floor, and what holding costs; null: it is not traded
}

// preview answers a dry run. It checks what Start checks and stores nothing.
func (d *Desk) preview(ctx context.Context, t Request) (Triggered, error) {
	c, err := d.checked(ctx, t)
	if err != nil {
		return Triggered{}, err
	}
	var markets []ktrdr.Market
	known := func(ctx context.Context, b *market.Bars) (ktrdr.Market, error) {
		m, err := d.cfg.Markets.Known(ctx, b)
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound { // it is assigned when a research starts
			m, err = ktrdr.Market{ID: b.Symbol}, nil
		}
		markets = append(markets, m)
		return m, err
	}
	v, err := d.divide(ctx, c.about.symbols, c.about.frames, c.about.context, c.renew, known)
	if err != nil {
		return Triggered{}, err
	}
	c.measure(v.parts)
	p := &Preview{
		Count: c.Count, Model: c.Model, Strategy: c.about.name, Symbols: c.about.symbols,
		Timeframe: string(shortest(v.series).Timeframe), Timeframes: text.Strings(c.about.frames),
	}
	p.addSeries(v, c)
	for _, m := range markets { // a look reads context symbols too, and a trial does not count there
		if v.renewal.renews(m.ID) {
			m.Looks = m.Claims
		}
		p.Looks = max(p.Looks, m.Looks)
	}
	if err := d.estimate(ctx, p, c, markets[:len(markets)-len(c.about.context)]); err != nil {
		return Triggered{}, err
	}
	out := Triggered{
		Operations: []TriggeredResearch{}, Understood: c.about.brief.Understood, Warnings: c.about.warnings, Preview: p,
	}
	if c.Model == Builtin { // a model is given the words themselves
		out.NotUnderstood, p.Nearest = c.about.brief.NotUnderstood, nearest(c.about.brief.NotUnderstood)
	}
	return out, nil
}

func nearest(words []string) map[string]string {
	known := map[string]string{}
	for _, w := range words {
		if near := designer.Nearest(w); near != "" {
			known[w] = near
		}
	}
	return known
}

func (p *Preview) addSeries(v divided, c checkedRequest) {
	for i, b := range v.series {
		s := PreviewSeries{
			Symbol: b.Symbol, Timeframe: string(b.Timeframe), Searched: v.cuts[i], Sealed: b.Len() - v.cuts[i], HoldoutFrom: v.from,
			MadeUp: v.madeUp[i], Context: i >= len(v.series)-len(c.about.context),
		}
		if k := slices.IndexFunc(c.costs, func(c SymbolCosts) bool { return c.Symbol == b.Symbol }); k >= 0 && !s.Context {
			s.CostPerSide, s.Costs = c.costs[k].PerSide()*1e4, &c.costs[k]
		}
		p.Series = append(p.Series, s)
	}
}

// estimate adds what the request costs in luck and in time.
func (d *Desk) estimate(ctx context.Context, p *Preview, c checkedRequest, markets []ktrdr.Market) error {
	most := slices.MaxFunc(markets, func(a, b ktrdr.Market) int { return a.Trials - b.Trials })
	p.Trials = most.Trials
	p.TrialsAfter = p.Trials + p.Count
	if !c.Until.IsZero() {
		p.TrialsAfter = evidence.OpenEndedTrials(p.Trials, p.Count, 0)
	}
	p.LuckBeforeZ, p.LuckAfterZ = evidence.BestByLuck(p.Trials), evidence.BestByLuck(p.TrialsAfter)
	p.NeededP = d.cfg.Rules.WithDefaults().MaxAdjustedP / float64(evidence.LookFactor(p.Looks))
	if d.cfg.History == nil {
		return nil
	}
	if most.Trials > 0 {
		points, err := d.cfg.History.TrialPoints(ctx, ktrdr.TrialQuery{Market: most.ID, Type: ktrdr.AgentResearch})
		if err != nil {
			return err
		}
		if p.StandardError = StandardError(points); p.StandardError != nil {
			p.LuckBefore, p.LuckAfter = new(p.LuckBeforeZ**p.StandardError), new(p.LuckAfterZ**p.StandardError)
		}
	}
	return d.estimateTime(ctx, p, c.Until)
}

// StandardError is the median of the standard errors of the Sharpe ratios of
// trials; nil before the first backtest.
func StandardError(points []ktrdr.TrialPoint) *float64 {
	var all []float64
	for i := range points {
		if p := &points[i]; p.Sharpe != nil && p.SharpeZ != nil && *p.SharpeZ != 0 && *p.Sharpe != 0 {
			all = append(all, math.Abs(*p.Sharpe / *p.SharpeZ))
		}
	}
	return middle(all)
}

func middle(all []float64) *float64 {
	if len(all) == 0 {
		return nil
	}
	slices.Sort(all)
	return &all[len(all)/2]
}

// recentResearches is from how many a duration is estimated.
const recentResearches = 40

// estimateTime estimates when all researches have ended: those that wait and the
// new ones take turns, as many at a time as the limit allows. With until the time
// is given.
func (d *Desk) estimateTime(ctx context.Context, p *Preview, until time.Time) error {
	workers, err := d.cfg.History.Workers(ctx)
	if err != nil {
		return err
	}
	q, err := d.cfg.History.InQueue(ctx, QueueName, 1)
	if err != nil {
		return err
	}
	p.Active, p.Waiting, p.Limit = q.Count.Active, q.Count.Waiting, 1
	if d.cfg.Limit != nil {
		p.Limit = d.cfg.Limit(workers)
	}
	if !until.IsZero() {
		p.Seconds = new(max(time.Until(until).Seconds(), 0))
		return nil
	}
	page, err := d.cfg.History.List(ctx, ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.AgentResearch}, Status: []ktrdr.Status{ktrdr.Completed}, Sort: ktrdr.Ended, Brief: true, Limit: recentResearches,
	})
	if err != nil {
		return err
	}
	var took []float64
	for i := range page.Operations {
		if op := &page.Operations[i]; !op.StartedAt.IsZero() && op.CompletedAt.After(op.StartedAt) {
			took = append(took, op.CompletedAt.Sub(op.StartedAt).Seconds())
		}
	}
	if one := middle(took); one != nil {
		rounds := math.Ceil(float64(p.Active+p.Waiting+p.Count) / float64(max(p.Limit, 1)))
		p.Seconds = new(rounds * *one)
	}
	return nil
}
