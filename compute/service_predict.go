package compute

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
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/train"
)

const usualPredicted = 5

// Predict asks a model. The last bar is computed twice, at once and bar by bar as
// live trading would, and both must agree to the bit. CodeInvalid says what to
// change about the request; CodeNotFound when there is no such training.
func (d *Service) Predict(ctx context.Context, r jobs.PredictionRequest) (jobs.Prediction, error) {
	if r.Last < 0 || r.Last > jobs.MostPredicted {
		return jobs.Prediction{}, wrong("last is %d; it must be 1 to %d", r.Last, jobs.MostPredicted)
	}
	if r.Last == 0 {
		r.Last = usualPredicted
	}
	select { // each holds a model and all features in memory
	case d.answers <- struct{}{}:
		defer func() { <-d.answers }()
	case <-ctx.Done():
		return jobs.Prediction{}, context.Cause(ctx)
	}
	file, m, from, err := d.model(ctx, jobs.BacktestRequest{Model: r.Model})
	if err != nil {
		return jobs.Prediction{}, err
	}
	kernel, err := kernelFor(d.cfg.Kernel, m.Info.KernelClass)
	if err != nil {
		return jobs.Prediction{}, err
	}
	if m, err = m.On(kernel); err != nil {
		return jobs.Prediction{}, err
	}
	if r.Symbol == "" {
		trained, err := tradedSymbols(jobs.BacktestRequest{}, m)
		if err != nil {
			return jobs.Prediction{}, err
		}
		if len(trained) > 1 {
			return jobs.Prediction{}, wrong("the model was trained on %s: say which one to predict with --symbol %s",
				strings.Join(trained, " and on "), trained[0])
		}
		r.Symbol = trained[0]
	}
	if err := m.Allows(r.Symbol); err != nil { // before a look is reserved for it
		return jobs.Prediction{}, wrong("%w", err)
	}
	found, err := d.find(ctx, []string{r.Symbol}, m.Strategy.Data.Timeframes, m.Strategy.ContextSeries())
	if err != nil {
		return jobs.Prediction{}, err
	}
	p := jobs.Prediction{
		Strategy: m.Strategy.Name, Symbol: r.Symbol, Timeframe: m.Strategy.Data.Base, Classes: m.Strategy.Training.Labels.Classes(),
		Bars: []jobs.PredictedBar{}, MadeUp: jobs.AnyMadeUp(found.pinned),
	}
	if err := d.readable(ctx, r, &p, file, from, found); err != nil {
		return jobs.Prediction{}, err
	}
	return p, ask(&p, m, found, r.Last)
}

// readable finds how far the bars may be read and, if the holdout is opened,
// reserves the look before a bar of it is shown. The same model on the same bars
// is the same look, however often it is asked for.
func (d *Service) readable(ctx context.Context, r jobs.PredictionRequest, p *jobs.Prediction, file ktrdr.Artifact, from origin,
	f *found,
) error {
	markets, err := d.holdouts(ctx, f)
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

func ask(p *jobs.Prediction, m *train.TrainedModel, f *found, last int) error {
	bars := f.traded()
	data := train.Arrange(f.bars, f.isContext)[0]
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

func predictedAt(base *market.Bars, said *train.Signals, i int) jobs.PredictedBar {
	b := jobs.PredictedBar{
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
