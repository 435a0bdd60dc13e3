package backend

import (
	"context"
	"log/slog"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/bundle"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// inject says what is to go wrong with an operation; nil, which costs no look at
// it, when nothing is.
func (c Config) inject() func(ktrdr.Operation) string {
	if len(c.Injections) == 0 {
		return nil
	}
	return c.Injections.For
}

// researchDesk opens what turns goals into researches and reads them.
func (b *Backend) researchDesk() (_ httpapi.Research, err error) {
	limit := research.Limit(b.cfg.MaxResearches)
	b.research, err = research.NewDesk(research.DeskConfig{
		Library: b.library, Blobs: b.blobs, Memory: b.engine, Operations: b.engine, Designs: b.engine, History: b.engine, Markets: b.markets,
		Strategy:    b.desk.StrategyText,
		KernelClass: b.kernel.Class(), Gates: &b.cfg.Gates, Models: b.cfg.Models.Chain, DefaultModel: b.cfg.Models.Default,
		Budget: b.budget, Costs: b.cfg.Costs, Instruments: b.instruments, Holdout: b.cfg.Holdout, Generation: b.cfg.Generation,
		Allows:    func() error { return b.models.level.Allows(resilience.NewResearch) },
		HoldsAKey: b.cfg.Models.keys(b.Getenv).In, Limit: limit,
	})
	views := research.Views{Engine: b.engine, Limit: limit, Daily: b.cfg.Models.Daily, Calls: b.store}
	return researches{
		b.research, views, report.NewReporter(b.engine, b.store),
		agent.Conversations{Researches: views, Operations: b.engine, Journal: b.store},
		bundle.Exporter{Lab: b.engine, Blobs: b.blobs},
		research.Tester{Store: b.engine},
	}, err
}

// researches is all that the API asks about researches.
type researches struct {
	*research.Desk
	research.Views
	report.Reporter
	agent.Conversations
	bundle.Exporter
	research.Tester
}

// runLook is how often runs are looked at, at most.
const runLook = 50 * time.Millisecond

// keepRuns advances runs. It looks when something has happened and, while a run
// is open, every second: time alone may end a run.
func (b *Backend) keepRuns(ctx context.Context) error {
	controller := research.NewRunController(b.engine, b.research.Related)
	controller.Test = research.Tester{Store: b.engine}.TestEnding
	tick := time.NewTicker(runLook)
	defer tick.Stop()
	for {
		changed, looked := b.engine.Changed(), time.Now()
		did, waits, err := controller.Advance(ctx, looked)
		for _, k := range did {
			level := slog.LevelInfo
			if k.Why != "" {
				level = slog.LevelWarn
			}
			b.Log.Log(ctx, level, "run advanced", "run", k.Run, "did", k.Did, "generation", k.Generation, "why", k.Why)
		}
		if err != nil && ctx.Err() == nil {
			b.Log.WarnContext(ctx, "a run could not continue yet", "err", err)
		}
		for again := false; !again; {
			select {
			case <-ctx.Done():
				return nil
			case <-tick.C:
			}
			select {
			case <-changed:
				again = true
			default:
				again = (waits || err != nil) && time.Since(looked) >= time.Second
			}
		}
	}
}

// budget is what a new research may spend on models: its own share, if the day
// has that much left.
func (b *Backend) budget(ctx context.Context) (usd float64, err error) {
	spent, err := b.store.Spending(ctx, "")
	if err != nil {
		return 0, err
	}
	return min(b.cfg.Models.Daily-spent.Today, b.cfg.Models.Research).USD(), nil
}
