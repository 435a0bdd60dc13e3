package research

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
)

// ended is an operation that completed.
// ledgerOf is what the ledger keeps of a type.
func ledgerOf(t ktrdr.Type) func(ktrdr.Operation) ktrdr.LedgerEntry {
	return ktrdr.MergeTypes(Types(), compute.Types())[t].Ledger
}

func ended(t *testing.T, typ ktrdr.Type, n int, spec, result any) ktrdr.Operation {
	t.Helper()
	op := ktrdr.Operation{ID: ktrdr.OperationID(fmt.Sprintf("op_%s_20260101_000000_%08d", typ, n)), Type: typ, Status: ktrdr.Completed}
	var err error
	if op.Spec, err = json.Marshal(spec); err != nil {
		t.Fatal(err)
	}
	if op.Result, err = json.Marshal(result); err != nil {
		t.Fatal(err)
	}
	return op
}

func TestLedger_KeepsTheFiguresOfAResearch(t *testing.T) {
	one, two, three := 1.5, 2.5, 0.25
	result := Result{StrategyName: strings.Repeat("x", 1<<17), ResultHash: mark(7), Figures: &BacktestFigures{
		AccountFigures: AccountFigures{Sharpe: &one, NetReturn: 0.1, MaxDrawdown: 0.2, Trades: 40}, SharpeZ: &two, AlphaZ: &three,
	}}
	e := ledgerOf(ktrdr.AgentResearch)(ended(t, ktrdr.AgentResearch, 1, struct{}{}, result))
	f := e.Trial
	if f == nil || *f.Sharpe != one || *f.SharpeZ != two || *f.AlphaZ != three || *f.NetReturn != 0.1 || f.Trades != 40 || f.Hash != mark(7) {
		t.Fatalf("kept %+v", f)
	}
	if len(f.Strategy) > 2*maxLine || e.Look != nil {
		t.Errorf("a name of %d bytes, look %+v", len(f.Strategy), e.Look)
	}
	unread := ledgerOf(ktrdr.AgentResearch)(ktrdr.Operation{Result: json.RawMessage(`{"outcome": 1}`)})
	if unread.Trial == nil {
		t.Error("a research whose result cannot be read is no trial")
	}
}

func TestLedger_ALookByHandEndsWithItsOperation(t *testing.T) {
	opens := &jobs.Opening{From: time.Unix(3600, 0).UTC()}
	for name, c := range map[string]struct {
		op   ktrdr.Operation
		look bool
	}{
		"a backtest": {ended(t, ktrdr.Backtesting, 1, jobs.BacktestSpec{Symbol: "EURUSD"}, jobs.BacktestResult{}), false},
		"a backtest that opens a holdout": {
			ended(t, ktrdr.Backtesting, 2, jobs.BacktestSpec{Symbol: "EURUSD", Opens: opens}, jobs.BacktestResult{}), true,
		},
		"a training": {ended(t, ktrdr.Training, 3, jobs.TrainingSpec{}, jobs.TrainingResult{}), false},
	} {
		e := ledgerOf(c.op.Type)(c.op)
		if e.Trial == nil || (e.Look != nil) != c.look || e.Look != nil && e.Look.Claim {
			t.Errorf("%s: trial %+v, look %+v", name, e.Trial, e.Look)
		}
		child := c.op
		child.Parent = "op_agent_research_1"
		if e := ledgerOf(c.op.Type)(child); e.Trial != nil || e.Look != nil {
			t.Errorf("%s of a research is kept twice", name)
		}
	}
}

func TestLedger_KeepsWhatALookShowed(t *testing.T) {
	p, adjusted := 0.001, 0.002
	c := Confirmation{Claim: true, LookHash: mark(9), Look: evidence.Confirmation{P: &p, Adjusted: &adjusted}}
	e := ledgerOf(ktrdr.AgentConfirm)(ended(t, ktrdr.AgentConfirm, 1, struct{}{}, c))
	if l := e.Look; l == nil || !l.Claim || *l.P != p || *l.Adjusted != adjusted || l.Hash != mark(9) || len(l.Result) == 0 {
		t.Errorf("kept %+v", e.Look)
	}
	if e := ledgerOf(ktrdr.AgentConfirm)(ktrdr.Operation{Result: json.RawMessage(`[]`)}); e.Look == nil || e.Look.Claim {
		t.Errorf("a look whose result cannot be read: %+v, want one that claims nothing", e.Look)
	}
}
