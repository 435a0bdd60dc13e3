package research

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// Result is what a research ends with.
type Result struct {
	Success      bool           `json:"success"`
	Outcome      Outcome        `json:"outcome"`
	Summary      string         `json:"summary,omitempty"` // for people
	Phase        Phase          `json:"phase"`             // in which it ended
	StrategyName string         `json:"strategy_name,omitempty"`
	Verdict      evidence.Level `json:"verdict,omitempty"`
	Claim        bool           `json:"claim"`

	Designer string   `json:"designer,omitempty"` // the model, or Builtin; "" where the strategy was given
	Assessor string   `json:"assessor,omitempty"` // who worded the verdict
	Instead  []string `json:"instead,omitempty"`  // what the program did itself although a model was asked for, and why

	HoldoutOpened bool         `json:"holdout_opened"`
	GateReason    string       `json:"gate_rejection_reason,omitempty"`
	Gates         []GateResult `json:"gates,omitempty"`

	Figures *Figures        `json:"backtest_result,omitempty"` // nil where it did not come to a backtest
	Model   *ktrdr.Artifact `json:"model,omitempty"`

	Training ktrdr.OperationID `json:"training_operation_id,omitempty"`
	Backtest ktrdr.OperationID `json:"backtest_operation_id,omitempty"`
	Seed     uint64            `json:"seed"`
	Place

	// ResultHash covers strategy, data, seed, weights, trades, figures and
	// verdict. It is the zero hash where there is no verdict.
	ResultHash ktrdr.Hash `json:"result_hash,omitzero"`
}

// credit says whose work it is. That a model was asked for and did not do it
// belongs to the summary: whoever paid for it wants to know.
func (r *Result) credit(asked string, d *Design, a *Assessment) {
	r.Assessor = a.Assessor
	if d != nil {
		r.Designer = d.Designer
		if d.Instead != "" {
			r.Instead = append(r.Instead, clip(fmt.Sprintf("Designed by the program itself instead of %s: %s.", asked, strings.TrimSuffix(d.Instead, ".")), maxLine))
		}
	}
	if a.Instead != "" {
		r.Instead = append(r.Instead, clip(fmt.Sprintf("Assessed by the program itself instead of %s: %s.", asked, strings.TrimSuffix(a.Instead, ".")), maxLine))
	}
	r.Summary = strings.Join(append([]string{r.Summary}, r.Instead...), " ")
}

// Figures are those of the backtest that people ask for first. Rates are
// fractions, and all are net of costs.
type Figures struct {
	Sharpe      *float64 `json:"sharpe_ratio"`
	WinRate     *float64 `json:"win_rate"`
	MaxDrawdown float64  `json:"max_drawdown"`
	NetReturn   float64  `json:"net_return"`
	BuyAndHold  *float64 `json:"buy_and_hold_return"`
	Trades      int      `json:"total_trades"`
	CostShare   float64  `json:"cost_share"`    // of what was earned before costs; 1 where nothing was
	CostPerSide float64  `json:"cost_per_side"` // of the value of one entry or exit

	// What the verdict made of them; nothing where there was none.
	TestSharpe    *float64 `json:"test_sharpe"`
	HoldoutSharpe *float64 `json:"holdout_sharpe"` // nil while it is sealed
	Deflated      *float64 `json:"deflated_sharpe"`
	Trials        int      `json:"trials_counted"`
	Openings      int      `json:"openings_counted"`
	Luck          *float64 `json:"luck_p"` // nil while the holdout is sealed
}

// judged adds what the verdict says. Where nothing was traded nothing is added.
func (f *Figures) judged(v *evidence.Figures) *Figures {
	if f == nil || v == nil {
		return f
	}
	f.TestSharpe, f.Deflated, f.Trials, f.Openings, f.Luck = v.Test.Sharpe.Ratio(), v.Deflated, v.Trials, v.Openings, v.Luck
	if v.Holdout != nil {
		f.HoldoutSharpe = v.Holdout.Sharpe.Ratio()
	}
	return f
}

func (e *evaluation) figures() *Figures {
	if e.run == nil {
		return nil
	}
	f := figuresOf(&e.run.Metrics)
	c := e.run.Config
	f.CostPerSide = designer.CostHints{Commission: c.Commission, Slippage: c.Slippage, Spread: c.Spread}.PerSide()
	return f
}

func figuresOf(m *backtest.Metrics) *Figures {
	f := &Figures{
		Sharpe: m.Sharpe, WinRate: m.WinRate, MaxDrawdown: m.MaxDrawdownPct / 100,
		NetReturn: m.TotalReturnPct / 100, Trades: m.TotalTrades,
	}
	if p := m.BuyAndHoldReturnPct; p != nil {
		hold := *p / 100
		f.BuyAndHold = &hold
	}
	if gross := m.TotalReturn + m.CostTotal; m.CostTotal > 0 {
		f.CostShare = 1
		if gross > m.CostTotal {
			f.CostShare = m.CostTotal / gross
		}
	}
	return f
}

// fingerprint is everything that a result consists of, and nothing of where,
// when, under what name, in how many attempts or by which of the models it came
// about. The hashes of training and backtest cover what these were made from and
// their figures.
type fingerprint struct {
	Strategy   ktrdr.Hash   `json:"strategy"`
	Data       []ktrdr.Hash `json:"data"`
	Holdout    []ktrdr.Hash `json:"holdout"`
	Seed       uint64       `json:"seed"`
	Weights    ktrdr.Hash   `json:"weights"`
	Training   ktrdr.Hash   `json:"training"`
	Trades     ktrdr.Hash   `json:"trades,omitzero"`
	Backtest   ktrdr.Hash   `json:"backtest,omitzero"`
	Gates      []GateResult `json:"gates"`
	Assessment *Assessment  `json:"assessment"`
}

// hash is the result's in one line. JSON writes fields in their order and
// numbers in their shortest form, so the same result is the same text anywhere.
func (r *research) hash(e evaluation, verdict *Assessment) (ktrdr.Hash, error) {
	if r.state.StrategyHash == (ktrdr.Hash{}) {
		return ktrdr.Hash{}, ktrdr.Errorf(ktrdr.CodeCorrupt, "state of %s: the hash of its strategy is missing", r.parent.ID)
	}
	judged := *verdict
	judged.Decisions, judged.Instead = nil, "" // how long models took, and which were away
	f := fingerprint{
		Strategy: r.state.StrategyHash, Data: hashes(r.spec.Bars), Holdout: hashes(r.spec.Holdout), Seed: r.spec.Seed,
		Weights: e.training.Model.SHA256, Training: e.training.ResultHash, Gates: r.state.Gates, Assessment: &judged,
	}
	if e.run != nil {
		f.Backtest = e.run.ResultHash
		if len(e.run.Artifacts) > 0 {
			f.Trades = e.run.Artifacts[0].SHA256
		}
	}
	text, err := encode(f)
	if err != nil {
		return ktrdr.Hash{}, fmt.Errorf("result hash: %w", err)
	}
	return sha256.Sum256(text), nil
}

func hashes(bars []jobs.Bars) []ktrdr.Hash {
	list := make([]ktrdr.Hash, len(bars))
	for i, b := range bars {
		list[i] = b.Hash
	}
	return list
}

// bounded keeps what an assessment says within what a note can hold, whoever
// made it.
func (a Assessment) bounded() Assessment {
	a.Summary = clip(a.Summary, maxText)
	for _, list := range []*[]string{&a.Strengths, &a.Weaknesses, &a.Suggestions} {
		*list = clipAll(*list)
	}
	if len(a.Hypotheses) > maxList {
		a.Hypotheses = a.Hypotheses[:maxList]
	}
	for i, h := range a.Hypotheses {
		a.Hypotheses[i] = Hypothesis{clip(h.Text, maxLine), clip(h.Rationale, maxLine), clip(h.Code, maxLine)}
	}
	return a
}

const maxLine = 400

func clipAll(list []string) []string {
	if len(list) > maxList {
		list = list[:maxList]
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = clip(s, maxLine)
	}
	return out
}
