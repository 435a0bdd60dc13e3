package research

import (
	"errors"
	"strconv"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/num"
)

// Gates are what a training and a backtest must reach for the research to go
// on. They are lax: they spare the time of what is plainly broken, and leave the
// judgement to the assessment.
//
//	training   classification  accuracy, loss, fall of the training loss
//	           regression      directional accuracy, error against the baseline's
//	backtest   both            trades, drawdown
//	           classification  win rate, Sharpe ratio
//	           regression      net return
type Gates struct {
	MinAccuracy            float64 `json:"min_accuracy"`
	MaxLoss                float64 `json:"max_loss"` // of a classification; see lossLimit
	MinLossDecrease        float64 `json:"min_loss_decrease"`
	MinDirectionalAccuracy float64 `json:"min_directional_accuracy"` // must be exceeded

	MinWinRate   float64 `json:"min_win_rate"`
	MaxDrawdown  float64 `json:"max_drawdown"` // fraction
	MinSharpe    float64 `json:"min_sharpe"`
	MinNetReturn float64 `json:"min_net_return"` // fraction
	MinTrades    int     `json:"min_trades"`
}

// DefaultGates are the gates of who sets none.
func DefaultGates() Gates {
	return Gates{
		MinAccuracy: 0.10, MaxLoss: 0.8, MinLossDecrease: -0.5, MinDirectionalAccuracy: 0.50,
		MinWinRate: 0.10, MaxDrawdown: 0.40, MinSharpe: -0.5, MinNetReturn: 0, MinTrades: 5,
	}
}

// GatesFrom reads the gates that the environment sets, beside the defaults.
func GatesFrom(getenv func(string) string) (Gates, error) {
	g := DefaultGates()
	var errs []error
	for _, s := range []struct {
		name string
		to   *float64
	}{
		{"TRAINING_GATE_MIN_ACCURACY", &g.MinAccuracy},
		{"TRAINING_GATE_MAX_LOSS", &g.MaxLoss},
		{"TRAINING_GATE_MIN_LOSS_DECREASE", &g.MinLossDecrease},
		{"TRAINING_GATE_MIN_DIRECTIONAL_ACCURACY", &g.MinDirectionalAccuracy},
		{"BACKTEST_GATE_MIN_WIN_RATE", &g.MinWinRate},
		{"BACKTEST_GATE_MAX_DRAWDOWN", &g.MaxDrawdown},
		{"BACKTEST_GATE_MIN_SHARPE", &g.MinSharpe},
		{"BACKTEST_GATE_MIN_NET_RETURN", &g.MinNetReturn},
	} {
		if text := getenv(s.name); text != "" {
			x, err := strconv.ParseFloat(text, 64)
			*s.to = x
			errs = append(errs, require(err == nil, "%s is %q; it must be a number", s.name, text))
		}
	}
	if text := getenv("BACKTEST_GATE_MIN_TRADES"); text != "" {
		n, err := strconv.Atoi(text)
		g.MinTrades = n
		errs = append(errs, require(err == nil && n > 0, "BACKTEST_GATE_MIN_TRADES is %q; it must be a whole number, 1 or more", text))
	}
	return g, errors.Join(append(errs, g.Validate())...)
}

// Validate says what is wrong with the gates. A NaN fails every comparison.
func (g Gates) Validate() error {
	share := func(name string, x float64) error {
		return require(x >= 0 && x <= 1, "gate %s is %v; it is a fraction from 0 to 1", name, x)
	}
	return errors.Join(
		share("min_accuracy", g.MinAccuracy), share("min_directional_accuracy", g.MinDirectionalAccuracy),
		share("min_win_rate", g.MinWinRate), share("max_drawdown", g.MaxDrawdown),
		require(g.MaxLoss > 0 && g.MaxLoss <= 1e6, "gate max_loss is %v; it must be above 0", g.MaxLoss),
		require(g.MinLossDecrease >= -100 && g.MinLossDecrease <= 1, "gate min_loss_decrease is %v; it must be -100 to 1", g.MinLossDecrease),
		require(g.MinSharpe >= -100 && g.MinSharpe <= 100, "gate min_sharpe is %v; it must be -100 to 100", g.MinSharpe),
		require(g.MinNetReturn >= -1 && g.MinNetReturn <= 100, "gate min_net_return is %v; it must be -1 to 100", g.MinNetReturn),
		require(g.MinTrades >= 0, "gate min_trades is %d; it must not be negative", g.MinTrades),
	)
}

// GateResult is what a gate said.
type GateResult struct {
	Gate     string      `json:"gate"` // training or backtest
	Passed   bool        `json:"passed"`
	Bypassed bool        `json:"bypassed,omitempty"` // it was rejected and continued all the same
	Reason   string      `json:"reason"`             // passed, bypassed, or why not
	Reasons  GateReasons `json:"reasons,omitempty"`  // the checks that failed
}

// bypass lets through what the gate rejected, and keeps why.
func (r GateResult) bypass(yes bool) GateResult {
	if yes && !r.Passed {
		r.Passed, r.Bypassed, r.Reason = true, true, "bypassed"
	}
	return r
}

// TrainingFigures are what a gate and an assessment look at of a training.
type TrainingFigures struct {
	Regression   bool     `json:"regression"`
	Classes      int      `json:"classes,omitempty"`
	Accuracy     *float64 `json:"test_accuracy"` // of a regression: directional; nil without a test part
	Baseline     *float64 `json:"baseline_accuracy"`
	Loss         *float64 `json:"test_loss"`
	RMSE         *float64 `json:"rmse,omitempty"`          // of a regression
	BaselineRMSE *float64 `json:"baseline_rmse,omitempty"` // of always answering with the mean of training
	LossDecrease *float64 `json:"loss_decrease"`           // of the training loss, relative to the first epoch's
	Epochs       int      `json:"epochs"`
}

func trainingFigures(r *jobs.TrainingResult) TrainingFigures {
	f := TrainingFigures{Epochs: r.Training.EpochsTrained}
	if h := r.Training.History.TrainLoss; len(h) > 0 && h[0] > 0 {
		f.LossDecrease = new((h[0] - h[len(h)-1]) / h[0])
	}
	if t := r.Test; t != nil {
		f.Accuracy, f.Baseline, f.Loss = &t.Accuracy, &t.BaselineAccuracy, &t.Loss
		if m := t.RegressionMetrics; m != nil {
			f.Regression, f.RMSE, f.BaselineRMSE = true, &m.RMSE, &m.BaselineRMSE
		}
		if t.ClassMetrics != nil {
			f.Classes = len(t.Classes)
		}
	}
	return f
}

// lossLimit is the highest loss that passes. Answering all of k classes alike has the
// cross-entropy ln k: what is not clearly worse is not refused for its loss.
func (g Gates) lossLimit(classes int) float64 {
	if classes < 2 {
		return g.MaxLoss
	}
	return max(g.MaxLoss, float64(clearlyWorse*num.Log(float64(classes))))
}

// clearlyWorse is how many times the error of an answer that knows nothing is too
// much: the loss of a regression has no fixed limit.
const clearlyWorse = 1.1

// Training is the gate between training and backtest.
func (g Gates) Training(f TrainingFigures) GateResult {
	c := checks{gate: "training"}
	switch {
	case f.Accuracy == nil || f.Loss == nil:
		c.reasons = GateReasons{{Code: "no_test_part", Text: "no_test_part (nothing was left to test the model on)"}}
	case f.Regression:
		c.check(*f.Accuracy > g.MinDirectionalAccuracy, "directional_accuracy_below_threshold", *f.Accuracy, "<=",
			g.MinDirectionalAccuracy, share)
		if f.RMSE != nil && f.BaselineRMSE != nil {
			limit := float64(clearlyWorse * *f.BaselineRMSE)
			c.check(*f.RMSE <= limit, "loss_too_high", *f.RMSE, ">", limit, digits)
		}
	default:
		limit := g.lossLimit(f.Classes)
		c.check(*f.Accuracy >= g.MinAccuracy, "accuracy_below_threshold", *f.Accuracy, "<", g.MinAccuracy, share)
		c.check(*f.Loss <= limit, "loss_too_high", *f.Loss, ">", limit, digits)
		if f.LossDecrease != nil {
			c.check(*f.LossDecrease >= g.MinLossDecrease, "insufficient_loss_decrease", *f.LossDecrease, "<", g.MinLossDecrease, share)
		}
	}
	return c.result()
}

// Backtest is the gate between backtest and assessment.
func (g Gates) Backtest(m *backtest.Metrics, regression bool) GateResult {
	c := checks{gate: "backtest"}
	least := max(g.MinTrades, 1)
	c.check(m.TotalTrades >= least, "too_few_trades", float64(m.TotalTrades), "<", float64(least), number)
	c.check(m.MaxDrawdownPct <= 100*g.MaxDrawdown, "drawdown_too_high", m.MaxDrawdownPct/100, ">", g.MaxDrawdown, share)
	if regression {
		c.check(m.TotalReturn >= float64(g.MinNetReturn*m.InitialCapital), "net_return_negative", m.TotalReturnPct/100, "<",
			g.MinNetReturn, smallShare)
		return c.result()
	}
	if m.WinRate != nil {
		c.check(*m.WinRate >= g.MinWinRate, "win_rate_too_low", *m.WinRate, "<", g.MinWinRate, share)
	}
	if m.Sharpe != nil {
		c.check(*m.Sharpe >= g.MinSharpe, "sharpe_too_low", *m.Sharpe, "<", g.MinSharpe, ratio)
	}
	return c.result()
}
