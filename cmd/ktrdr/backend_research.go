package main

import (
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
func (b *backend) researchDesk() (httpapi.Research, error) {
	d, err := research.NewDesk(research.DeskConfig{
		Library: b.desk.Library(), Blobs: b.blobs, Ledger: b.engine, Strategy: b.desk.StrategyText,
		KernelClass: b.kernel.Class(), Gates: &b.cfg.Gates,
	})
	return researchDesk{d, research.NewMemory(b.engine), b.engine, research.Limit(b.cfg.MaxResearches)}, err
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
