package research

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// RungNothing is the rung of a research that failed a check.
const RungNothing = "nothing"

// Result is what a research ends with.
type Result struct {
	Success      bool           `json:"success"`
	Outcome      Outcome        `json:"outcome"`
	Summary      string         `json:"summary,omitempty"` // for people
	Phase        Phase          `json:"phase"`             // in which it ended
	StrategyName string         `json:"strategy_name,omitempty"`
	Verdict      evidence.Level `json:"verdict,omitempty"`
	Rung         string         `json:"rung,omitempty"` // gate_rejected, nothing or finalist; a look may lift a finalist

	Designer string   `json:"designer,omitempty"` // the model, or Builtin; "" where the strategy was given
	Assessor string   `json:"assessor,omitempty"` // who worded the verdict
	Instead  []string `json:"instead,omitempty"`  // what the program did itself although a model was asked for, and why

	GateReason string       `json:"gate_rejection_reason,omitempty"`
	Gates      []GateResult `json:"gates,omitempty"`

	Figures *BacktestFigures `json:"backtest_result,omitempty"` // nil where it did not come to a backtest
	Model   *ktrdr.Artifact  `json:"model,omitempty"`

	Costs    []PaidCosts `json:"costs,omitempty"`    // that the backtest paid, by symbol
	Warnings []string    `json:"warnings,omitempty"` // for people
	MadeUp   *bool       `json:"made_up"`            // its prices, or some of them, were made up; null: not known

	Data []SeriesFacts `json:"data,omitempty"` // where its prices come from, and how they were read

	Training ktrdr.OperationID `json:"training_operation_id,omitempty"`
	Backtest ktrdr.OperationID `json:"backtest_operation_id,omitempty"`
	Seed     uint64            `json:"seed"`
	RunPosition

	// ResultHash covers strategy, data, seed, weights, trades, figures and
	// verdict. It ends at the finalist: a look has a hash of its own. It is the
	// zero hash where there is no verdict.
	ResultHash ktrdr.Hash `json:"result_hash,omitzero"`
}

// credit says who designed and who assessed. The summary says so if the built-in
// designer did it in place of the model that was asked for.
func (r *Result) credit(s *Spec, d *Design, a *Assessment) {
	r.Assessor = a.Assessor
	instead := func(did, asked, why string) {
		if why != "" {
			said := fmt.Sprintf("%s by the program itself instead of %s: %s.", did, asked, strings.TrimSuffix(why, "."))
			r.Instead = append(r.Instead, clip(said, maxLine))
		}
	}
	if d != nil {
		r.Designer = d.Designer
		instead("Designed", s.designer(), d.Instead)
	}
	instead("Assessed", s.Model, a.Instead)
	r.Summary = strings.Join(append([]string{r.Summary}, r.Instead...), " ")
}

// BacktestFigures are the main figures of a backtest: fractions, net of costs.
type BacktestFigures struct {
	AccountFigures
	CostShare   float64 `json:"cost_share"`    // of what was earned before costs; 1 where nothing was
	CostPerSide float64 `json:"cost_per_side"` // of the value of one entry or exit; of several symbols the dearest

	Symbols []SymbolFigures `json:"symbols,omitempty"` // of each symbol, where several were traded

	CostBelowDefault bool `json:"cost_below_default"` // CostPerSide is below the default of the asset class

	// What the verdict made of them; nothing where there was none.
	TestSharpe *float64 `json:"test_sharpe"` // per year where possible
	SharpeZ    *float64 `json:"sharpe_z"`
	Alpha      *float64 `json:"alpha"` // per year where possible
	AlphaZ     *float64 `json:"alpha_z"`
	Deflated   *float64 `json:"deflated_sharpe"`
	Trials     int      `json:"trials_counted"`
}

// AccountFigures are those of one account, or of the sum of several.
type AccountFigures struct {
	Sharpe      *float64 `json:"sharpe_ratio"`
	WinRate     *float64 `json:"win_rate"`
	MaxDrawdown float64  `json:"max_drawdown"`
	NetReturn   float64  `json:"net_return"`
	BuyAndHold  *float64 `json:"buy_and_hold_return"`
	Trades      int      `json:"total_trades"`
}

// SymbolFigures are those of one symbol's account. The verdict is on the sum.
type SymbolFigures struct {
	Symbol string `json:"symbol"`
	AccountFigures
}

// judged adds what the verdict says. Where nothing was traded nothing is added.
func (f *BacktestFigures) judged(v *evidence.Figures) *BacktestFigures {
	if f == nil || v == nil {
		return f
	}
	f.TestSharpe, f.Deflated, f.Trials = v.Test.Sharpe.Ratio(), v.Deflated, v.Trials
	f.SharpeZ, f.AlphaZ, f.Alpha = v.SharpeZ, v.AlphaZ, v.Test.Alpha
	if s := v.Test.Sharpe; f.Alpha != nil && s.Annualized != nil && s.PerBar != nil && *s.PerBar != 0 {
		root := *s.Annualized / *s.PerBar // of the number of bars in a year
		perYear := *f.Alpha * float64(root*root)
		f.Alpha = &perYear
	}
	return f
}

func (e *evaluation) figures() *BacktestFigures {
	if e.run == nil {
		return nil
	}
	return FiguresOf(e.run)
}

// FiguresOf are the main figures of a backtest.
func FiguresOf(run *jobs.BacktestResult) *BacktestFigures {
	f := figuresOf(&run.Metrics)
	for _, a := range run.Accounts {
		f.Symbols = append(f.Symbols, SymbolFigures{a.Symbol, figuresOf(&a.Metrics).AccountFigures})
	}
	c := run.Config
	f.CostPerSide = instrument.Costs{Commission: c.Commission, Slippage: c.Slippage, Spread: c.Spread}.PerSide()
	return f
}

func figuresOf(m *backtest.Metrics) *BacktestFigures {
	f := &BacktestFigures{AccountFigures: AccountFigures{
		Sharpe: m.Sharpe, WinRate: m.WinRate, MaxDrawdown: m.MaxDrawdownPct / 100,
		NetReturn: m.TotalReturnPct / 100, Trades: m.TotalTrades,
	}}
	if p := m.BuyAndHoldReturnPct; p != nil {
		f.BuyAndHold = new(*p / 100)
	}
	if gross := m.TotalReturn + m.CostTotal; m.CostTotal > 0 {
		f.CostShare = 1
		if gross > m.CostTotal {
			f.CostShare = m.CostTotal / gross
		}
	}
	return f
}

// fingerprint is all that a result consists of, but not where, when, under what name,
// in how many attempts or by which model it was made.
type fingerprint struct {
	Strategy   ktrdr.Hash   `json:"strategy"`
	Data       []ktrdr.Hash `json:"data"`
	Seed       uint64       `json:"seed"`
	Weights    ktrdr.Hash   `json:"weights"`
	Training   ktrdr.Hash   `json:"training"`
	Trades     ktrdr.Hash   `json:"trades,omitzero"`
	Backtest   ktrdr.Hash   `json:"backtest,omitzero"`
	Gates      []GateResult `json:"gates"`
	Assessment *Assessment  `json:"assessment"`
}

func (r *research) hash(e evaluation, verdict *Assessment) (ktrdr.Hash, error) {
	if r.state.StrategyHash == (ktrdr.Hash{}) {
		return ktrdr.Hash{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "state of %s: the hash of its strategy is missing", r.parent.ID)
	}
	judged := *verdict
	judged.Decisions, judged.Instead = nil, "" // how long models took, and which were away
	judged.MadeUp = nil                        // the bars are hashed
	judged.Lines = nil                         // they follow from the rest
	judged.Reasons = hashedReasons(judged.Reasons)
	f := fingerprint{
		Strategy: r.state.StrategyHash, Data: hashes(r.spec.Bars), Seed: r.spec.Seed,
		Weights: e.training.Model.SHA256, Training: e.training.ResultHash, Gates: r.state.Gates, Assessment: &judged,
	}
	if e.run != nil {
		f.Backtest = e.run.ResultHash
		if len(e.run.Artifacts) > 0 {
			f.Trades = e.run.Artifacts[0].SHA256
		}
	}
	return hashJSON(f)
}

// hashedReasons are reasons as every version has hashed them.
func hashedReasons(reasons []evidence.Reason) []evidence.Reason {
	list := slices.Clone(reasons)
	for i := range list {
		r := &list[i]
		if r.Code != evidence.BeatsHold || r.Limit == nil {
			continue
		}
		if r.Value != nil {
			r.Value = new(*r.Value - *r.Limit)
		}
		r.Limit = new(0.0)
	}
	return list
}

func hashes(bars []jobs.Bars) []ktrdr.Hash {
	return text.Map(bars, func(b jobs.Bars) ktrdr.Hash { return b.Hash })
}

func (a Assessment) bounded() Assessment {
	a.Summary = clip(a.Summary, maxText)
	for _, list := range []*[]string{&a.Strengths, &a.Weaknesses, &a.Suggestions} {
		*list = clipAll(*list)
	}
	a.Hypotheses = a.Hypotheses[:min(len(a.Hypotheses), maxList)]
	for i, h := range a.Hypotheses {
		a.Hypotheses[i] = Hypothesis{clip(h.Text, maxLine), clip(h.Rationale, maxLine), clip(h.Code, maxLine)}
	}
	return a
}

const maxLine = 400

func clipAll(list []string) []string {
	out := make([]string, min(len(list), maxList))
	for i := range out {
		out[i] = clip(list[i], maxLine)
	}
	return out
}
