package research

import (
	"encoding/json"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/designer"
)

// TestGateReasons_CarryNumbers checks that a program need not read a number out
// of a text: shares are fractions, whatever the text shows.
func TestGateReasons_CarryNumbers(t *testing.T) {
	accuracy, loss, fall := 0.09, 9.0, -2.0
	training := DefaultGates().Training(TrainingFigures{Classes: 2, Accuracy: &accuracy, Loss: &loss, LossDecrease: &fall})
	win, sharpe := 0.05, -0.6
	traded := DefaultGates().Backtest(&backtest.Metrics{TotalTrades: 4, WinRate: &win, MaxDrawdownPct: 41, Sharpe: &sharpe}, false)
	lost := DefaultGates().Backtest(&backtest.Metrics{TotalTrades: 9, TotalReturn: -5, TotalReturnPct: -0.5, InitialCapital: 1000}, true)
	type numbers struct{ value, limit float64 }
	want := map[string]numbers{
		"accuracy_below_threshold": {0.09, 0.10}, "loss_too_high": {9, 0.8}, "insufficient_loss_decrease": {-2, -0.5},
		"too_few_trades": {4, 5}, "drawdown_too_high": {0.41, 0.40}, "win_rate_too_low": {0.05, 0.10}, "sharpe_too_low": {-0.6, -0.5},
		"net_return_negative": {-0.005, 0},
	}
	for _, r := range append(append(training.Reasons, traded.Reasons...), lost.Reasons...) {
		w, known := want[string(r.Code)]
		if !known || r.Passed || r.Value == nil || *r.Value != w.value || r.Limit == nil || *r.Limit != w.limit {
			t.Errorf("reason %+v, want %+v", r, w)
		}
		delete(want, string(r.Code))
	}
	if len(want) > 0 {
		t.Errorf("no reason names %v", want)
	}
}

// TestGateReasons_OfEarlierVersions reads a state and a note that an earlier
// version wrote.
func TestGateReasons_OfEarlierVersions(t *testing.T) {
	var r GateResult
	if err := json.Unmarshal([]byte(`{"gate":"training","passed":false,"reason":"loss_too_high (9 > 1)","reasons":["loss_too_high (9 > 1)"]}`),
		&r); err != nil {
		t.Fatal(err)
	}
	if len(r.Reasons) != 1 || r.Reasons[0].Code != "loss_too_high" || r.Reasons[0].Text != "loss_too_high (9 > 1)" ||
		r.Reasons[0].Value != nil {
		t.Errorf("read %+v", r.Reasons)
	}
	text, err := json.Marshal(DefaultGates().Training(TrainingFigures{Classes: 2, Accuracy: new(0.5), Loss: new(9.0)}))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &r); err != nil || len(r.Reasons) != 1 || *r.Reasons[0].Value != 9 {
		t.Errorf("%s is read as %+v, %v", text, r.Reasons, err)
	}
	var o designer.Outcome
	if err := json.Unmarshal(
		[]byte(`{"reasons":["costs (they ate it)","DECAY: half is gone",{"code":"sharpe","value":-1,"limit":0}],"trades":0}`), &o); err != nil {
		t.Fatal(err)
	}
	if len(o.Reasons) != 3 || o.Reasons[0].Code != "costs" || o.Reasons[1].Code != "decay" || o.Reasons[2].Code != "sharpe" ||
		*o.Reasons[2].Value != -1 {
		t.Errorf("the designer reads %+v", o.Reasons)
	}
}
