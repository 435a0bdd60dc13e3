package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
)

// The bounds of a comparison.
const (
	FewestCompared = 2
	MostCompared   = 5

	mostLooks  = 1000
	mostSealed = 400 // Sharpe ratios that are listed
)

// Compared is strategies side by side. The figures of a holdout are there only
// where it was opened.
type Compared struct {
	Strategies  []ComparedStrategy `json:"strategies"`  // in the order asked for
	Correlation [][]*float64       `json:"correlation"` // of the daily returns on the test part, on common days; null: too few
	// Bets is how many uncorrelated strategies are worth as much; null where a
	// correlation is.
	Bets        *float64           `json:"independent_bets"`
	Differences []DesignDifference `json:"differences"` // of the designs
	Same        []DesignField      `json:"same"`        // what they have in common

	Looks        []ComparedLook `json:"looks"` // at the holdouts of the markets of these strategies, oldest first
	Trials       int            `json:"market_trials"`
	Luck         *float64       `json:"expected_best_by_luck"` // Sharpe ratio of the best of the trials on the market
	MaxAdjustedP float64        `json:"max_adjusted_p"`        // that a claim needs
	Sealed       []float64      `json:"sealed_sharpes"`        // on the test part, of strategies whose holdout was not opened; at most 400
	SealedAll    int            `json:"sealed"`                // how many such strategies there are
}

// ComparedStrategy is one of them. Rates are fractions, net of costs.
type ComparedStrategy struct {
	Operation  ktrdr.OperationID `json:"operation_id"`
	Strategy   string            `json:"strategy_name"`
	Run        string            `json:"run,omitempty"`
	Symbols    string            `json:"symbols"`
	Timeframes string            `json:"timeframes"`
	Standing   string            `json:"standing"`
	Rung       string            `json:"rung,omitempty"`
	Claim      bool              `json:"claim"`
	MadeUp     *bool             `json:"made_up"`

	// Of the test part.
	Sharpe        *float64     `json:"sharpe_ratio"`
	StandardError *float64     `json:"standard_error"`
	Luck          *float64     `json:"expected_best_by_luck"`
	Trials        int          `json:"market_trials"`
	Deflated      *float64     `json:"deflated_sharpe"` // by the trials on its market today
	NetReturn     *float64     `json:"net_return"`
	BuyAndHold    *float64     `json:"buy_and_hold_return"`
	Beta          *float64     `json:"beta"`
	Alpha         *float64     `json:"alpha"`
	AlphaZ        *float64     `json:"alpha_z"`
	MaxDrawdown   *float64     `json:"max_drawdown"`
	Trades        int          `json:"total_trades"`
	WinRate       *float64     `json:"win_rate"`
	CostPerSide   *float64     `json:"cost_per_side"`
	BreakEven     *float64     `json:"break_even_multiplier"`  // of the costs
	Kept          *float64     `json:"sharpe_kept"`            // from training to test
	Returns       []jobs.Point `json:"returns"`                // daily
	Hold          []jobs.Point `json:"buy_and_hold,omitempty"` // what 1 becomes on the test part; absent in assessments of earlier versions

	Look *ComparedLook `json:"look,omitempty"` // at its holdout; absent while that is sealed
}

// ComparedLook is one look at a holdout.
type ComparedLook struct {
	Operation  ktrdr.OperationID `json:"operation_id,omitempty"`
	Research   ktrdr.OperationID `json:"research_operation_id,omitempty"` // whose strategy it is
	Strategy   string            `json:"strategy_name,omitempty"`
	Kind       ktrdr.LookKind    `json:"kind"`
	At         time.Time         `json:"at"`
	Number     int               `json:"number"`        // on its market
	Counted    int               `json:"looks_counted"` // that its p-value is multiplied by
	P          *float64          `json:"p"`
	Adjusted   *float64          `json:"adjusted_p"`
	Claim      bool              `json:"claim"`
	TestSharpe *float64          `json:"test_sharpe"`

	Sharpe        *float64     `json:"sharpe_ratio"` // on the holdout
	StandardError *float64     `json:"standard_error"`
	Needed        *float64     `json:"needed_sharpe"` // about: the claim needs the weaker of Sharpe and alpha
	Return        *float64     `json:"return"`
	BuyAndHold    *float64     `json:"buy_and_hold_return"`
	Returns       []jobs.Point `json:"returns,omitempty"`      // daily; only of the strategies that are compared
	Hold          []jobs.Point `json:"buy_and_hold,omitempty"` // what 1 becomes on the holdout; as returns
}

// Compare puts 2 to 5 researches side by side. An id may be shortened to what
// people use of it. CodeInvalid, CodeNotFound.
func (r Reporter) Compare(ctx context.Context, ids []string) (Compared, error) {
	ops, err := r.comparedOperations(ctx, ids)
	if err != nil {
		return Compared{}, err
	}
	of := make([]ktrdr.OperationID, len(ops))
	for i := range ops {
		of[i] = ops[i].ID
	}
	page, err := r.engine.Trials(ctx, ktrdr.TrialQuery{Of: of, Limit: len(of)})
	if err != nil {
		return Compared{}, err
	}
	c := Compared{MaxAdjustedP: evidence.Rules{}.WithDefaults().MaxAdjustedP, Looks: []ComparedLook{}, Sealed: []float64{}}
	designs := make([]string, len(ops))
	var markets []string
	for i := range ops {
		t := ktrdr.Trial{Operation: ops[i].ID}
		if k := slices.IndexFunc(page.Trials, func(t ktrdr.Trial) bool { return t.Operation == ops[i].ID }); k >= 0 {
			t = page.Trials[k]
		}
		s, design, err := r.comparedStrategy(ctx, &ops[i], &t)
		if err != nil {
			return Compared{}, err
		}
		c.Strategies, designs[i] = append(c.Strategies, s), design
		if t.Market != "" && !slices.Contains(markets, t.Market) {
			markets = append(markets, t.Market)
		}
	}
	c.Correlation, c.Bets = correlations(c.Strategies)
	c.Differences, c.Same = differences(designs)
	for _, m := range markets {
		if err := r.addMarket(ctx, &c, m); err != nil {
			return Compared{}, err
		}
	}
	slices.SortStableFunc(c.Looks, func(a, b ComparedLook) int { return a.At.Compare(b.At) })
	return c, nil
}

// comparedOperations finds the researches that ids name.
func (r Reporter) comparedOperations(ctx context.Context, ids []string) ([]ktrdr.Operation, error) {
	ids = slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return strings.TrimSpace(id) == "" })
	if len(ids) < FewestCompared || len(ids) > MostCompared {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%d strategies cannot be compared: name %d to %d researches", len(ids), FewestCompared,
			MostCompared)
	}
	named, err := r.namedResearches(ctx, ids)
	if err != nil {
		return nil, err
	}
	var ops []ktrdr.Operation
	for _, id := range named {
		op, err := r.engine.Operation(ctx, id)
		switch {
		case err != nil:
			return nil, err
		case op.Type != ktrdr.AgentResearch:
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s is not a research but %s; `ktrdr leaderboard` lists researches", id, op.Type)
		case slices.ContainsFunc(ops, func(o ktrdr.Operation) bool { return o.ID == op.ID }):
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s is named twice: name different researches", id)
		}
		ops = append(ops, op)
	}
	return ops, nil
}

// searchedResearches bounds how many of the newest researches short ids are
// looked for in.
const searchedResearches = 10_000

// namedResearches finds the researches that ids, or enough of their tails, name.
// All short ones are looked for in one walk.
func (r Reporter) namedResearches(ctx context.Context, ids []string) ([]ktrdr.OperationID, error) {
	const shortest = 4
	found := make([][]ktrdr.OperationID, len(ids))
	walk := false
	for i, text := range ids {
		ids[i] = strings.TrimSpace(text)
		if id := ktrdr.OperationID(ids[i]); id.Valid() {
			found[i] = []ktrdr.OperationID{id}
		} else if len(ids[i]) < shortest {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%.40q is too short for the id of a research: give at least %d characters", text, shortest)
		} else {
			walk = true
		}
	}
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{ktrdr.AgentResearch}, Brief: true, Limit: 1000}
	for seen := 0; walk && seen < searchedResearches; {
		page, err := r.engine.List(ctx, q)
		if err != nil {
			return nil, err
		}
		for k := range page.Operations {
			addNamed(found, ids, page.Operations[k].ID)
		}
		seen, q.Cursor = seen+len(page.Operations), page.Next
		walk = q.Cursor != ""
	}
	list := make([]ktrdr.OperationID, len(ids))
	for i, some := range found {
		switch len(some) {
		case 0:
			return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no research %.60q; `ktrdr leaderboard` lists them", ids[i])
		case 1:
			list[i] = some[0]
		default:
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%.60q means %d researches: add a character or two", ids[i], len(some))
		}
	}
	return list, nil
}

// addNamed adds a research to what the short ids mean that name it.
func addNamed(found [][]ktrdr.OperationID, ids []string, id ktrdr.OperationID) {
	for i, text := range ids {
		short := !ktrdr.OperationID(text).Valid()
		if short && (strings.HasPrefix(id.Tail(), text) || strings.HasPrefix(string(id), text)) {
			found[i] = append(found[i], id)
		}
	}
}

// comparedStrategy reads one research and its design.
func (r Reporter) comparedStrategy(
	ctx context.Context, op *ktrdr.Operation, t *ktrdr.Trial,
) (s ComparedStrategy, design string, err error) {
	ranked := research.Rank([]ktrdr.Trial{*t})[0]
	s = ComparedStrategy{
		Operation: op.ID, Strategy: t.Strategy, Run: t.Run, Symbols: t.Symbols, Timeframes: t.Timeframes, Standing: research.Standing(t),
		Rung: t.Rung, Claim: t.Claim, MadeUp: t.MadeUp, Sharpe: t.Sharpe, Trials: t.MarketTrials, Deflated: ranked.Deflated,
		NetReturn: t.NetReturn, Alpha: t.Alpha, AlphaZ: t.AlphaZ, MaxDrawdown: t.MaxDrawdown, Trades: t.Trades, Returns: []jobs.Point{},
	}
	if z := t.SharpeZ; z != nil && *z != 0 && t.Sharpe != nil {
		s.StandardError = new(*t.Sharpe / *z)
		s.Luck = new(evidence.BestByLuck(t.MarketTrials) * *s.StandardError)
	}
	var result research.Result
	if json.Unmarshal(op.Result, &result) == nil && result.Figures != nil { // one that failed has none
		f := result.Figures
		s.WinRate, s.BuyAndHold, s.CostPerSide = f.WinRate, f.BuyAndHold, &f.CostPerSide
	}
	if err := r.addReturns(ctx, &s, result.Backtest); err != nil {
		return s, "", err
	}
	if err := r.addAssessment(ctx, &s); err != nil {
		return s, "", err
	}
	records, _, err := research.NewMemory(r.engine).Records(ctx, ktrdr.NoteQuery{Operation: op.ID, Limit: 1})
	if err == nil && len(records) > 0 {
		design = records[0].Strategy
		s.Strategy = cmp.Or(s.Strategy, records[0].Name)
	}
	return s, design, err
}

// addReturns adds the daily returns on the test part, which are kept of every
// backtest.
func (r Reporter) addReturns(ctx context.Context, s *ComparedStrategy, backtest ktrdr.OperationID) error {
	if backtest == "" {
		return nil
	}
	op, err := r.engine.Operation(ctx, backtest)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	var result jobs.BacktestResult
	if err := json.Unmarshal(op.Result, &result); err != nil {
		return fmt.Errorf("result of %s: %w", op.ID, err)
	}
	s.Returns, err = dailyPoints(result.Daily)
	return err
}

func dailyPoints(d *jobs.Daily) ([]jobs.Point, error) {
	points := []jobs.Point{}
	if d == nil {
		return points, nil
	}
	days, err := d.List()
	for _, day := range days {
		points = append(points, jobs.Point{Time: day.Day, Value: float64(day.Return)})
	}
	return points, err
}

// addAssessment adds what only the verdict measured.
func (r Reporter) addAssessment(ctx context.Context, s *ComparedStrategy) error {
	page, err := r.engine.List(ctx, ktrdr.OperationQuery{
		Parent: s.Operation, Type: []ktrdr.Type{ktrdr.AgentAssessment}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 1,
	})
	if err != nil || len(page.Operations) == 0 {
		return err
	}
	op, err := r.engine.Operation(ctx, page.Operations[0].ID)
	if err != nil {
		return err
	}
	var a research.Assessment
	if json.Unmarshal(op.Result, &a) != nil || a.Figures == nil {
		return nil //nolint:nilerr // of another version, or nothing was measured
	}
	if a.Lines != nil {
		s.Hold = holdPoints(a.Lines.Test)
	}
	s.Beta, s.BreakEven, s.Kept = a.Figures.Test.Beta, a.Figures.Costs.BreakEven, a.Figures.Decay.Retention
	return nil
}

// addMarket adds what happened on a market: its looks, and what its other trials
// show on the test part.
func (r Reporter) addMarket(ctx context.Context, c *Compared, market string) error {
	points, err := r.engine.TrialPoints(ctx, ktrdr.TrialQuery{Market: market, Type: ktrdr.AgentResearch})
	if err != nil {
		return err
	}
	test := map[ktrdr.OperationID]*float64{}
	var sealed []float64
	for i := range points {
		p := &points[i]
		test[p.Operation] = p.Sharpe
		if p.Sharpe != nil && !p.Looked {
			sealed = append(sealed, *p.Sharpe)
		}
	}
	c.Trials, c.SealedAll = max(c.Trials, len(points)), c.SealedAll+len(sealed)
	slices.Sort(sealed)
	for i := 0; i < len(sealed); i += 1 + len(sealed)/mostSealed {
		c.Sealed = append(c.Sealed, sealed[i])
	}
	if se := research.StandardError(points); se != nil {
		c.Luck = new(max(evidence.BestByLuck(len(points))**se, *cmp.Or(c.Luck, new(math.Inf(-1)))))
	}
	page, err := r.engine.Looks(ctx, ktrdr.LookQuery{Market: market, Limit: mostLooks})
	if err != nil {
		return err
	}
	for i := range page.Looks {
		l := &page.Looks[i]
		if slices.ContainsFunc(c.Looks, func(x ComparedLook) bool { return x.At.Equal(l.ReservedAt) && x.Research == l.Research }) {
			continue // it was at several markets
		}
		look, told := lookOf(l, market, c.MaxAdjustedP)
		look.TestSharpe = test[l.Research]
		c.Looks = append(c.Looks, look)
		k := slices.IndexFunc(c.Strategies, func(s ComparedStrategy) bool { return s.Operation == l.Research })
		if k >= 0 && l.Kind == ktrdr.LookConfirmation && !l.EndedAt.IsZero() {
			if look.Returns, err = dailyPoints(told.Daily); err != nil {
				return err
			}
			look.Hold = holdPoints(told.Line)
			c.Strategies[k].Look = &look
		}
	}
	return nil
}

// lookOf is a look with the figures of its result.
func lookOf(l *ktrdr.Look, market string, maxLuck float64) (look ComparedLook, told research.Confirmation) {
	look = ComparedLook{
		Operation: l.Operation, Research: l.Research, Strategy: l.Strategy, Kind: l.Kind, At: l.ReservedAt, Number: l.Before + 1,
		Counted: evidence.LookFactor(l.Before), P: l.P, Adjusted: l.Adjusted, Claim: l.Claim,
	}
	if k := slices.IndexFunc(l.Markets, func(m ktrdr.LookMarket) bool { return m.Market == market }); k >= 0 {
		look.Number = l.Markets[k].Number
	}
	if len(l.Result) == 0 || json.Unmarshal(l.Result, &told) != nil || told.Look.Holdout.Sharpe.Ratio() == nil {
		return look, research.Confirmation{} // of another version, or by hand
	}
	h := &told.Look.Holdout
	look.Sharpe, look.Return, look.BuyAndHold = h.Sharpe.Ratio(), &h.Return, &h.HoldReturn
	if z := h.Sharpe.Z; z != nil && *z != 0 {
		look.StandardError = new(*look.Sharpe / *z)
	}
	look.Needed = h.Sharpe.Needed(maxLuck / float64(look.Counted))
	return look, told
}

// holdPoints are buy and hold of a sketch.
func holdPoints(s *evidence.Sketch) (points []jobs.Point) {
	if s == nil {
		return nil
	}
	for i, at := range s.Time {
		points = append(points, jobs.Point{Time: time.Unix(at, 0).UTC(), Value: s.Hold[i]})
	}
	return points
}
