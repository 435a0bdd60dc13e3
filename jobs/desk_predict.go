package jobs

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
)

// PredictionRequest asks a model about the newest bars of a symbol before the
// holdout of its market. The model is named as in a BacktestRequest.
type PredictionRequest struct {
	Model       string `json:"model"`                         // the id of a training, the sha256 of a model, or its path in the data folder
	Symbol      string `json:"symbol,omitempty"`              // empty means the first that the model was trained on
	Last        int    `json:"last,omitempty" zero:"refused"` // how many bars, at most 10000; absent means 5
	OpenHoldout bool   `json:"open_holdout,omitempty"`        // read the bars of the holdout too; it is counted as a look
}

// MostPredicted is how many bars one prediction shows at most.
const MostPredicted = 10_000

// usualPredicted is how many bars are shown if a request names no number.
const usualPredicted = 5

// Prediction is what a model decides at each of some bars.
type Prediction struct {
	Strategy  string             `json:"strategy_name"`
	Symbol    string             `json:"symbol"`
	Timeframe market.Timeframe   `json:"timeframe"`
	Classes   []string           `json:"classes,omitempty"` // of the answers; absent when they are forecast returns
	Bars      []PredictedBar     `json:"bars"`
	Warnings  []string           `json:"warnings,omitempty"`
	MadeUp    *bool              `json:"made_up"`        // the prices, or some of them, are made up; null: not known
	Look      []ktrdr.LookMarket `json:"look,omitempty"` // the number of the look at each market; absent when no holdout was opened
}

// PredictedBar is what a model decides at the close of a bar.
type PredictedBar struct {
	Time       time.Time `json:"time"`   // opening of the bar
	Closed     time.Time `json:"closed"` // when it was known
	Close      float64   `json:"close"`
	Signal     string    `json:"signal"` // BUY, HOLD or SELL
	Confidence float32   `json:"confidence"`
	Answers    []float32 `json:"answers"` // probabilities of the classes, or the forecast return; empty without features
}

// Predict asks a model. The last bar is computed twice, at once and bar by bar as
// live trading would, and both must agree to the bit. CodeInvalid says what to
// change about the request; CodeNotFound when there is no such training.
func (d *Desk) Predict(ctx context.Context, r PredictionRequest) (Prediction, error) {
	if r.Last < 0 || r.Last > MostPredicted {
		return Prediction{}, wrong("last is %d; it must be 1 to %d", r.Last, MostPredicted)
	}
	if r.Last == 0 {
		r.Last = usualPredicted
	}
	select { // each holds a model and all features in memory
	case d.answers <- struct{}{}:
		defer func() { <-d.answers }()
	case <-ctx.Done():
		return Prediction{}, context.Cause(ctx)
	}
	file, m, from, err := d.model(ctx, BacktestRequest{Model: r.Model})
	if err != nil {
		return Prediction{}, err
	}
	kernel, err := kernelFor(d.cfg.Kernel, m.Info.KernelClass)
	if err != nil {
		return Prediction{}, err
	}
	if m, err = m.On(kernel); err != nil {
		return Prediction{}, err
	}
	if r.Symbol == "" {
		trained, err := BacktestRequest{}.symbols(m)
		if err != nil {
			return Prediction{}, err
		}
		if len(trained) > 1 {
			return Prediction{}, wrong("the model was trained on %s: say which one to predict with --symbol %s",
				strings.Join(trained, " and on "), trained[0])
		}
		r.Symbol = trained[0]
	}
	if err := m.Allows(r.Symbol); err != nil { // before a look is reserved for it
		return Prediction{}, wrong("%w", err)
	}
	found, err := d.find(ctx, []string{r.Symbol}, m.Strategy.Data.Timeframes)
	if err != nil {
		return Prediction{}, err
	}
	p := Prediction{
		Strategy: m.Strategy.Name, Symbol: r.Symbol, Timeframe: m.Strategy.Data.Base, Classes: m.Strategy.Training.Labels.Classes(),
		Bars: []PredictedBar{}, MadeUp: AnyMadeUp(found.pinned),
	}
	if err := d.readable(ctx, r, &p, file, from, found); err != nil {
		return Prediction{}, err
	}
	return p, p.ask(m, found.bars, r.Last)
}

// readable finds how far the bars may be read and, if the holdout is opened,
// reserves the look before a bar of it is shown. The same model on the same bars
// is the same look, however often it is asked for.
func (d *Desk) readable(ctx context.Context, r PredictionRequest, p *Prediction, file ktrdr.Artifact, from origin, f *found) error {
	markets, err := d.holdouts(ctx, f.bars)
	if err != nil {
		return err
	}
	access, err := markets.access(f, time.Time{}, r.OpenHoldout, from)
	if err != nil {
		return err
	}
	if err := d.fix(ctx, markets); err != nil {
		return err
	}
	p.Warnings = access.told
	if access.look == nil {
		return nil
	}
	bars := sha256.New()
	for _, b := range f.bars {
		h := b.Hash()
		_, _ = bars.Write(h[:]) // a hash takes everything
	}
	access.look.Key = fmt.Sprintf("predict/%s/%s/%x", file.SHA256, r.Symbol, bars.Sum(nil))
	access.look.Strategy = p.Strategy
	look, err := d.cfg.Ledger.ReserveLook(ctx, *access.look)
	p.Look = look.Markets
	return err
}

// ask fills in what the model says of the last bars.
func (p *Prediction) ask(m *train.TrainedModel, bars []*market.Bars, last int) error {
	data := train.Series{Symbol: p.Symbol, Bars: bars}
	said, err := train.PredictLast(m, data, last)
	if err != nil {
		return wrong("%w", err)
	}
	if err := train.VerifyLive(m, data, said); err != nil {
		return err
	}
	base := bars[slices.IndexFunc(bars, func(b *market.Bars) bool { return b.Timeframe == said.Timeframe })]
	for i := max(0, base.Len()-last); i < base.Len(); i++ {
		p.Bars = append(p.Bars, predictedAt(base, said, i))
	}
	return nil
}

func predictedAt(base *market.Bars, said *train.Signals, i int) PredictedBar {
	b := PredictedBar{
		Time: instant(base.Time[i]), Closed: instant(base.Timeframe.End(base.Time[i])), Close: base.Close[i],
		Signal: signalName(said.Signal[i]), Confidence: said.Confidence[i], Answers: []float32{},
	}
	if x := said.Answer(i); !math.IsNaN(float64(x[0])) {
		b.Answers = x
	}
	return b
}

func signalName(s backtest.Signal) string {
	switch s {
	case backtest.Buy:
		return "BUY"
	case backtest.Sell:
		return "SELL"
	}
	return "HOLD"
}
