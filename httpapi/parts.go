package httpapi

import (
	"context"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// Desk makes operations of requests for trainings, backtests and imports, and
// knows the library: *jobs.Desk. It refuses a bad request before anything is
// created.
type Desk interface {
	Training(ctx context.Context, r jobs.TrainingRequest) (jobs.Order, error)
	Backtest(ctx context.Context, r jobs.BacktestRequest) (jobs.Order, error)
	DataLoad(ctx context.Context, r jobs.DataLoadRequest) (jobs.Order, error)
	Predict(ctx context.Context, r jobs.PredictionRequest) (jobs.Prediction, error)

	// Models returns a page of trained models, newest first, and where the next
	// begins.
	Models(ctx context.Context, limit int, cursor string) ([]jobs.Model, string, error)
	Strategies(ctx context.Context) ([]jobs.Strategy, error)
	AddStrategy(ctx context.Context, r jobs.StrategyRequest) (jobs.Strategy, error)
	DeleteStrategy(ctx context.Context, name string) error
	Indicators() []indicator.Description
	Series(ctx context.Context) ([]jobs.Series, error)
	DeleteSeries(ctx context.Context, symbol, timeframe string) (jobs.DeletedSeries, error)
	RenameSeries(ctx context.Context, r jobs.RenameRequest) ([]jobs.Series, error)
	DecideMarket(ctx context.Context, r jobs.MarketRequest) (jobs.Series, error)

	// Columns returns a page of what a backtest stored.
	Columns(ctx context.Context, op ktrdr.Operation, q jobs.Page) (jobs.Columns, error)
	// File returns a file that an operation made; one of a compacted operation
	// is computed again.
	File(ctx context.Context, op ktrdr.Operation, name string) ([]byte, error)
	// Pin keeps the files of the research that an operation belongs to, or lets
	// it be compacted, and returns the research.
	Pin(ctx context.Context, id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error)
}

// Research creates researches and reads what they left: research.Desk,
// research.Views, report.Reporter and agent.Conversations.
type Research interface {
	// Start creates a run of researches. Under a key a repeated request
	// completes what an interrupted one began.
	Start(ctx context.Context, r research.Request, key ktrdr.IdempotencyKey) (research.Triggered, error)
	// Status lists that number of waiting researches at most.
	Status(ctx context.Context, waiting int) (research.Status, error)
	Budget(ctx context.Context) (research.BudgetStatus, error)
	// Memory returns a page of one kind, newest first, and where the next begins.
	Memory(ctx context.Context, q research.MemoryQuery) (research.MemoryPage, string, error)
	Experiment(ctx context.Context, id ktrdr.OperationID) (research.ExperimentRow, error)
	Conversation(ctx context.Context, id ktrdr.OperationID) (agent.Conversation, error)
	Leaderboard(ctx context.Context, q report.LeaderboardQuery) (report.Leaderboard, error)
	Report(ctx context.Context, q report.Query) (report.Report, error)
}

// Resilience keeps the circuit breakers and decides what is shed.
type Resilience interface {
	Breakers() []resilience.Status
	BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error)
	ResetBreaker(ctx context.Context, name string, d resilience.Decision) (resilience.Decided, error)
	ForceBreaker(ctx context.Context, name string, d resilience.Decision) (resilience.Decided, error)
	Degradation() resilience.DegradationStatus
	// Models lists the language models that may be asked, in their order.
	Models() []llm.ModelHealth
}
