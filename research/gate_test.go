package research

import (
	"math"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/backtest"
)

func TestGates_Training(t *testing.T) {
	classes := func(accuracy, loss, fall float64) TrainingFigures {
		return TrainingFigures{Classes: 3, Accuracy: &accuracy, Loss: &loss, LossDecrease: &fall}
	}
	regression := func(accuracy, rmse float64) TrainingFigures {
		loss, baseline := 3.0, 0.01 // whatever the unit of the loss is
		return TrainingFigures{Regression: true, Accuracy: &accuracy, Loss: &loss, RMSE: &rmse, BaselineRMSE: &baseline}
	}
	for name, x := range map[string]struct {
		figures TrainingFigures
		want    string
	}{
		"good enough":                       {classes(0.10, 0.8, -0.5), "passed"},
		"three classes told apart a little": {classes(0.40, 1.08, 0.1), "passed"},
		"surer than right":                  {classes(0.40, 1.3, 0.1), "loss_too_high (1.3 > 1.208)"},
		"hardly ever right":                 {classes(0.09, 0.7, 0.1), "accuracy_below_threshold (9.0% < 10.0%)"},
		"unlearning":                        {classes(0.40, 0.7, -0.6), "insufficient_loss_decrease (-60.0% < -50.0%)"},
		"wrong in every way": {
			classes(0.01, 9, -2),
			"accuracy_below_threshold (1.0% < 10.0%); loss_too_high (9 > 1.208); insufficient_loss_decrease (-200.0% < -50.0%)",
		},
		"a forecast of the sign":       {regression(0.52, 0.011), "passed"},
		"a forecast as good as a coin": {regression(0.50, 0.009), "directional_accuracy_below_threshold (50.0% <= 50.0%)"},
		"a forecast far off":           {regression(0.52, 0.012), "loss_too_high (0.012 > 0.011)"},
		"no test part":                 {TrainingFigures{}, "no_test_part (nothing was left to test the model on)"},
	} {
		r := DefaultGates().Training(x.figures)
		if r.Reason != x.want || r.Passed != (x.want == "passed") || r.Gate != "training" {
			t.Errorf("%s: %+v, want %s", name, r, x.want)
		}
		if b := r.bypass(true); !b.Passed || !r.Passed && b.Reason != "bypassed" || len(b.Reasons) != len(r.Reasons) {
			t.Errorf("%s: bypassed %+v", name, b)
		}
	}
}

func TestGates_Backtest(t *testing.T) {
	metrics := func(trades int, win, drawdown, sharpe, net float64) *backtest.Metrics {
		return &backtest.Metrics{
			TotalTrades: trades, WinRate: &win, MaxDrawdownPct: drawdown, Sharpe: &sharpe,
			InitialCapital: 1000, TotalReturn: 10 * net, TotalReturnPct: net,
		}
	}
	for name, x := range map[string]struct {
		metrics    *backtest.Metrics
		regression bool
		want       string
	}{
		"good enough":                    {metrics(5, 0.10, 40, -0.5, -3), false, "passed"},
		"too rare":                       {metrics(4, 0.5, 1, 1, 1), false, "too_few_trades (4 < 5)"},
		"never":                          {&backtest.Metrics{InitialCapital: 1000}, false, "too_few_trades (0 < 5)"},
		"hardly a win":                   {metrics(9, 0.09, 1, 1, 1), false, "win_rate_too_low (9.0% < 10.0%)"},
		"a deep fall":                    {metrics(9, 0.5, 41, 1, 1), false, "drawdown_too_high (41.0% > 40.0%)"},
		"a bad ratio":                    {metrics(9, 0.5, 1, -0.6, 1), false, "sharpe_too_low (-0.60 < -0.50)"},
		"a loss of a regression":         {metrics(9, 0.05, 1, -2, -0.5), true, "net_return_negative (-0.50% < 0.00%)"},
		"a gain of a regression":         {metrics(9, 0.05, 1, -2, 0.5), true, "passed"},
		"a regression that hardly moves": {metrics(2, 0.5, 1, 1, 1), true, "too_few_trades (2 < 5)"},
	} {
		r := DefaultGates().Backtest(x.metrics, x.regression)
		if r.Reason != x.want || r.Passed != (x.want == "passed") || r.Gate != "backtest" {
			t.Errorf("%s: %+v, want %s", name, r, x.want)
		}
	}
}

func TestGates_FromTheEnvironment(t *testing.T) {
	env := map[string]string{
		"TRAINING_GATE_MIN_ACCURACY": "0.45", "TRAINING_GATE_MAX_LOSS": "2", "TRAINING_GATE_MIN_LOSS_DECREASE": "0.2",
		"TRAINING_GATE_MIN_DIRECTIONAL_ACCURACY": "0.55", "BACKTEST_GATE_MIN_WIN_RATE": "0.3", "BACKTEST_GATE_MAX_DRAWDOWN": "0.2",
		"BACKTEST_GATE_MIN_SHARPE": "0.1", "BACKTEST_GATE_MIN_NET_RETURN": "0.01", "BACKTEST_GATE_MIN_TRADES": "30",
	}
	get := func(name string) string { return env[name] }
	g, err := GatesFrom(get)
	if want := (Gates{0.45, 2, 0.2, 0.55, 0.3, 0.2, 0.1, 0.01, 30}); err != nil || g != want {
		t.Errorf("%+v, %v, want %+v", g, err, want)
	}
	if g, err := GatesFrom(func(string) string { return "" }); err != nil || g != DefaultGates() {
		t.Errorf("without any: %+v, %v", g, err)
	}
	env["BACKTEST_GATE_MIN_TRADES"], env["TRAINING_GATE_MAX_LOSS"], env["BACKTEST_GATE_MAX_DRAWDOWN"] = "many", "low", "40"
	_, err = GatesFrom(get)
	for _, name := range []string{"BACKTEST_GATE_MIN_TRADES", "TRAINING_GATE_MAX_LOSS", "max_drawdown"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("err = %v, want it to name %s", err, name)
		}
	}
	bad := DefaultGates()
	bad.MinSharpe = math.NaN()
	if bad.Validate() == nil {
		t.Error("a NaN is taken for a gate")
	}
}
