package research

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Snapshot is what a status is made from.
type Snapshot struct {
	Researches []ktrdr.Operation                     // that have not ended, in any order
	Children   map[ktrdr.OperationID]ktrdr.Operation // of those, as far as known, by id
	Last       *ktrdr.Operation                      // the research that ended last; nil if none did
	Runs       []ktrdr.OpenRun                       // that have not ended
	Workers    []ktrdr.Worker
	Queue      ktrdr.QueueHealth
	Budget     BudgetStatus
	Now        time.Time
}

// BudgetStatus is how much of a day's money for models is left, in US dollars.
type BudgetStatus struct {
	Limit     float64 `json:"daily_limit_usd"`
	Spent     float64 `json:"spent_today_usd"`
	Remaining float64 `json:"remaining_usd"`
}

// Status is how research stands.
type Status struct {
	Status   string                       `json:"status"` // active or idle
	Phase    Phase                        `json:"phase"`  // of the newest that is active; IDLE where none is
	Active   []Active                     `json:"active_researches"`
	Lasting  []Lasting                    `json:"lasting_runs"` // that begin more of them by themselves
	Workers  map[string]ktrdr.WorkerSlots `json:"workers"`
	Capacity ktrdr.QueueHealth            `json:"capacity"`
	Budget   BudgetStatus                 `json:"budget"`
	Last     *Cycle                       `json:"last_cycle"`
}

// Lasting is a run that begins one generation after the other until a time.
type Lasting struct {
	Run        string    `json:"run"`
	Until      time.Time `json:"until"`
	Generation int       `json:"generation"` // the newest there is
	Open       int       `json:"open"`       // researches of it that have not ended
}

// Active is a research that has not ended.
type Active struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Session   int64             `json:"session_id"`
	Status    ktrdr.Status      `json:"status"`
	Phase     Phase             `json:"phase"`
	Strategy  string            `json:"strategy_name,omitempty"`
	Brief     string            `json:"brief,omitempty"`
	Seed      uint64            `json:"seed"`
	MadeUp    *bool             `json:"made_up"` // its prices, or some of them, were made up; null: not known
	RunPosition
	Symbols    string            `json:"symbols,omitempty"`            // separated by blanks
	Timeframes string            `json:"timeframes,omitempty"`         // the same
	Worker     string            `json:"worker,omitempty"`             // the name of the worker that runs the child
	Child      ktrdr.OperationID `json:"child_operation_id,omitempty"` // that does the work of the phase
	Progress   *ktrdr.Progress   `json:"child_progress,omitempty"`
	CreatedAt  time.Time         `json:"created_at"`
	StartedAt  time.Time         `json:"started_at,omitzero"`
	Seconds    float64           `json:"duration_seconds"` // since it started
}

// Cycle is a research that has ended.
type Cycle struct {
	Operation   ktrdr.OperationID `json:"operation_id"`
	Session     int64             `json:"session_id"`
	Status      ktrdr.Status      `json:"status"`
	Outcome     Outcome           `json:"outcome"`
	Strategy    string            `json:"strategy_name,omitempty"`
	Verdict     string            `json:"verdict,omitempty"`
	Summary     string            `json:"summary,omitempty"`
	MadeUp      *bool             `json:"made_up"` // its prices, or some of them, were made up; null: not known
	Error       string            `json:"error_message,omitempty"`
	CompletedAt time.Time         `json:"completed_at"`
}

// StatusOf makes a status of a snapshot. Researches are listed as they came.
func StatusOf(s Snapshot) Status {
	st := Status{
		Status: "idle", Phase: Idle, Budget: s.Budget, Lasting: lastingRuns(&s),
		Active: text.Map(s.Researches, func(op ktrdr.Operation) Active { return active(op, &s) }),
		Workers: map[string]ktrdr.WorkerSlots{
			"training": slots(s.Workers, ktrdr.Training), "backtesting": slots(s.Workers, ktrdr.Backtesting),
			"agents": slots(s.Workers, ktrdr.AgentDesign),
		},
		Capacity: s.Queue,
	}
	slices.SortFunc(st.Active, func(a, b Active) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Operation, b.Operation))
	})
	for _, a := range st.Active {
		if a.Status != ktrdr.Pending {
			st.Status, st.Phase = "active", a.Phase
		}
	}
	if s.Last != nil {
		st.Last = cycle(*s.Last)
	}
	return st
}

func lastingRuns(s *Snapshot) []Lasting {
	list := []Lasting{}
	for _, r := range s.Runs {
		if r.State == ktrdr.RunRunning && s.Now.Before(r.Until) {
			list = append(list, Lasting{Run: r.ID, Until: r.Until, Generation: max(r.Generations-1, 0), Open: r.Open})
		}
	}
	return list
}

func active(op ktrdr.Operation, s *Snapshot) Active {
	a := Active{
		Operation: op.ID, Session: op.Session, Status: op.Status, Phase: cmp.Or(Phase(op.Phase), Idle),
		CreatedAt: op.CreatedAt, StartedAt: op.StartedAt,
	}
	var waits Listing
	if json.Unmarshal(op.Metadata, &waits) == nil { // what cannot be read is left out
		a.Brief, a.Strategy, a.Seed, a.MadeUp, a.RunPosition = waits.Brief, waits.Strategy, waits.Seed, waits.MadeUp, waits.RunPosition
		a.Symbols, a.Timeframes = waits.Symbols, waits.Timeframes
	}
	if op.Status != ktrdr.Pending && !op.StartedAt.IsZero() && s.Now.After(op.StartedAt) {
		a.Seconds = s.Now.Sub(op.StartedAt).Seconds()
	}
	var state PlanState
	if json.Unmarshal(op.State, &state) != nil {
		return a
	}
	a.Strategy = cmp.Or(state.StrategyName, a.Strategy)
	a.Child = *state.child()
	if c, ok := s.Children[a.Child]; ok {
		a.Progress = &c.Progress
		for _, w := range s.Workers {
			if w.ID == c.Worker {
				a.Worker = w.Name
			}
		}
	}
	return a
}

func cycle(op ktrdr.Operation) *Cycle {
	c := &Cycle{
		Operation: op.ID, Session: op.Session, Status: op.Status, Outcome: OutcomeOf(op),
		Error: op.ErrorMessage, CompletedAt: op.CompletedAt,
	}
	var r Result
	if json.Unmarshal(op.Result, &r) == nil {
		c.Strategy, c.Verdict, c.Summary, c.MadeUp = r.StrategyName, string(r.Verdict), r.Summary, r.MadeUp
	}
	return c
}
