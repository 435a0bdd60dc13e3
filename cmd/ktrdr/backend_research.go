package main

import (
	"context"
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
		KernelClass: b.kernel.Class(), Gates: &b.cfg.Gates,
	})
	return researchDesk{b.research, research.NewMemory(b.engine), b.engine, research.Limit(b.cfg.MaxResearches)}, err
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
		lasting, err := night.Keep(ctx, time.Now())
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
				again = lasting || err != nil
			}
		}
	}
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
			ktrdr.AgentDesign:     agent.Inject(agent.DesignRunner(research.NewMemory(b.engine))),
			ktrdr.AgentAssessment: agent.Inject(agent.AssessmentRunner()),
		},
		Version: ourVersion(), Log: b.log, StopWithin: stopWorkersWithin,
	}, b.engine.Local())
	return err
}
