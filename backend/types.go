package backend

import (
	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/factory"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// Types are the operation types of this program, as their owners define them.
func Types() ktrdr.Types { return ktrdr.MergeTypes(dummy.Types(), compute.Types(), research.Types()) }

// place is where operations run.
type place string

const (
	inBackend place = "in the process of a backend"
	byAgents  place = "in the process of a backend, in a slot for agents" // no training keeps a design waiting
	inChild   place = "in a child process of a backend"
	onWorker  place = "on a worker"
)

// builders make the runner of a type, for each place where it may run. In a child
// process and on a worker only the kernel of the backend is set.
type builders map[place]func(*Backend) worker.Runner

// typeRunners is the table of runners. A type without one is moved by its plan.
func typeRunners() map[ktrdr.Type]builders {
	return map[ktrdr.Type]builders{
		ktrdr.Training:    anywhere(func(b *Backend) worker.Runner { return compute.TrainingRunner(b.kernel) }),
		ktrdr.Backtesting: anywhere(func(b *Backend) worker.Runner { return compute.BacktestRunner(b.kernel) }),
		ktrdr.Examining:   anywhere(func(b *Backend) worker.Runner { return compute.ExaminationRunner(b.kernel) }),
		ktrdr.Dummy:       anywhere(func(*Backend) worker.Runner { return dummy.Runner() }),
		ktrdr.DataLoad: {
			inBackend: func(b *Backend) worker.Runner {
				return compute.LoadRunner(b.library, b.markets, b.cfg.Holdout, b.instruments)
			},
			inChild: func(*Backend) worker.Runner { return compute.ReadRunner() },
		},
		ktrdr.DataFetch: {
			inBackend: func(b *Backend) worker.Runner {
				return compute.FetchRunner(b.library, b.markets, b.cfg.Holdout, b.instruments, b.fetcher)
			},
			inChild: func(b *Backend) worker.Runner { return compute.FetchOnlyRunner(b.fetcher) },
		},
		ktrdr.AgentDesign: {
			byAgents: func(b *Backend) worker.Runner { return agent.DesignRunner(research.NewMemory(b.engine), b.asks) },
		},
		ktrdr.AgentAssessment: {byAgents: func(b *Backend) worker.Runner { return agent.AssessmentRunner(b.asks) }},
		ktrdr.AgentConfirm: {
			byAgents: func(*Backend) worker.Runner { return agent.ConfirmationRunner() },
			inChild:  func(*Backend) worker.Runner { return agent.ConfirmationRunner() },
		},
		ktrdr.ClaimStep: {
			byAgents: func(*Backend) worker.Runner { return agent.ClaimStepRunner() },
			inChild:  func(*Backend) worker.Runner { return agent.ClaimStepRunner() },
		},
		ktrdr.CalibrationPart: anywhere(func(b *Backend) worker.Runner { return factory.CalibrationRunner(b.kernel) }),
		ktrdr.FactoryPart:     anywhere(func(b *Backend) worker.Runner { return factory.PartRunner(b.kernel) }),
	}
}

func anywhere(build func(*Backend) worker.Runner) builders {
	return builders{inBackend: build, inChild: build, onWorker: build}
}

// runners are those of all types that may run in a place.
func (b *Backend) runners(at place) map[ktrdr.Type]worker.Runner {
	all := map[ktrdr.Type]worker.Runner{}
	for name, builders := range typeRunners() {
		if build := builders[at]; build != nil {
			all[name] = build(b)
			if _, concludes := all[name].(worker.Concluder); !concludes { // no research has work for one that does
				all[name] = agent.Inject(all[name])
			}
		}
	}
	return all
}

// Runners run the operations of a worker process, by type.
func Runners(k neural.Kernel) map[ktrdr.Type]worker.Runner {
	return (&Backend{kernel: k}).runners(onWorker)
}
