package main

import (
	"context"
	"os"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// queues are the lines that parents stand in.
func (c Config) queues() []engine.Queue {
	return []engine.Queue{{Name: research.QueueName, Limit: research.Limit(c.MaxResearches)}}
}

// inject says what is to go wrong with an operation; nil, which costs no look at
// it, when nothing is.
func (c Config) inject() func(ktrdr.Operation) string {
	if len(c.Injections) == 0 {
		return nil
	}
	return c.Injections.For
}

// researchDesk opens what turns goals into researches.
func (b *backend) researchDesk() (_ httpapi.Research, err error) {
	b.research, err = research.NewDesk(research.DeskConfig{
		Library: b.desk.Library(), Blobs: b.blobs, Ledger: b.engine, Strategy: b.desk.StrategyText,
		KernelClass: b.kernel.Class(), Gates: &b.cfg.Gates, Models: b.cfg.Models.Chain, Budget: b.budget,
		Costs: b.cfg.Costs.of, Holdout: b.cfg.Holdout, Generation: b.cfg.Generation,
	})
	return researchDesk{b.research, research.NewMemory(b.engine), b.engine, research.Limit(b.cfg.MaxResearches), b.store, b.cfg.Models, b.lifelines.level, b.cfg.Models.keys(os.Getenv), &b.hopeless}, err
}

// nightLook is how often runs that last until a time are looked at, at most.
const nightLook = 250 * time.Millisecond

// keepNights keeps runs going that last until a time. While there is none it
// looks only when something has happened.
func (b *backend) keepNights(ctx context.Context) error {
	night := research.NewNight(b.research, b.engine)
	tick := time.NewTicker(nightLook)
	defer tick.Stop()
	for {
		changed := b.engine.Changed()
		kept, err := night.Keep(ctx, time.Now())
		for _, p := range kept.Ended {
			if b.hopeless.add(p.Run) {
				b.log.WarnContext(ctx, "a run ended before its time: only failures came of it", "run", p.Run, "generation", p.Generation)
			}
		}
		if err != nil && ctx.Err() == nil {
			b.log.WarnContext(ctx, "a run that lasts until a time could not go on yet", "err", err)
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
				again = kept.Lasting || err != nil
			}
		}
	}
}

// budget is what a new research may spend on models: its own share, if the day
// has that much left.
func (b *backend) budget(ctx context.Context) (usd float64, err error) {
	spent, err := b.store.Spending(ctx, "")
	if err != nil {
		return 0, err
	}
	return min(b.cfg.Models.Daily-spent.Today, b.cfg.Models.Research).USD(), nil
}

// makeAgents makes those who design and assess. They have slots of their own,
// so that no training keeps a design waiting.
func (b *backend) makeAgents() (err error) {
	if b.cfg.Agents == 0 {
		return nil
	}
	b.agents, err = worker.New(worker.Config{
		Name: "agents", Slots: b.cfg.Agents, HeldBy: b.self.Incarnation,
		Runners: map[ktrdr.Type]worker.Runner{
			ktrdr.AgentDesign:     agent.Inject(agent.DesignRunner(research.NewMemory(b.engine), b.minds)),
			ktrdr.AgentAssessment: agent.Inject(agent.AssessmentRunner(research.NewMemory(b.engine), b.minds)),
		},
		Version: ourVersion(), Log: b.log, StopWithin: stopWorkersWithin,
	}, b.engine.Local())
	return err
}
