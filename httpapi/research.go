package httpapi

import (
	"context"
	"encoding/json"

	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/report"

	"github.com/ktrdr/ktrdr/research"

	"github.com/ktrdr/ktrdr"
)

// Research is what the API needs of whoever knows about researches. What they
// are once they run, the engine knows: they are operations.
type Research interface {
	Reporter

	// Trigger makes researches of a request, and says what is wrong with it
	// before anything is created. A run that has a name is asked for again
	// under that name; an empty one gets a new name.
	Trigger(ctx context.Context, r research.Request) (research.PlannedRun, error)
	// Rest makes the researches of a run whose first exists, after its spec and
	// not after what is true now.
	Rest(r research.Request, first json.RawMessage) (research.PlannedRun, error)
	// Status lists so many at most of those who wait for their turn.
	Status(ctx context.Context, waiting int) (research.Status, error)
	Budget(ctx context.Context) (research.BudgetStatus, error)

	// Memory returns a page of one kind of what researches left, newest first,
	// and where the next begins.
	Memory(ctx context.Context, q research.MemoryQuery) (research.MemoryPage, string, error)
	// Experiment returns all that is remembered of a research; CodeNotFound.
	Experiment(ctx context.Context, id ktrdr.OperationID) (research.ExperimentRow, error)
	// Conversation returns what a research and models said to each other.
	Conversation(ctx context.Context, id ktrdr.OperationID) (agent.Conversation, error)
	// Leaderboard ranks researches.
	Leaderboard(ctx context.Context, q report.LeaderboardQuery) (report.Leaderboard, error)
}
