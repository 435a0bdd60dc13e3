package httpapi

import (
	"context"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"

	"github.com/ktrdr/ktrdr"
)

// Desk is what the API needs of whoever turns requests into operations. It says
// what is wrong with a request before anything is created.
type Desk interface {
	Training(ctx context.Context, r jobs.TrainingRequest) (jobs.Accepted, error)
	Backtest(ctx context.Context, r jobs.BacktestRequest) (jobs.Accepted, error)
	DataLoad(ctx context.Context, r jobs.DataLoadRequest) (jobs.Accepted, error)
	Predict(ctx context.Context, r jobs.PredictionRequest) (jobs.Prediction, error)

	// Models returns a page of trained models, newest first, and where the next
	// begins.
	Models(ctx context.Context, limit int, cursor string) ([]jobs.TrainedModel, string, error)
	Strategies(ctx context.Context) ([]jobs.Strategy, error)
	Indicators() []indicator.Description
	Series(ctx context.Context) ([]jobs.LibrarySeries, error)

	// DecideMarket assigns a series of the library to a market.
	DecideMarket(ctx context.Context, r jobs.MarketRequest) (jobs.LibrarySeries, error)

	LibraryDesk

	// Columns returns a page of what a backtest stored.
	Columns(ctx context.Context, op ktrdr.Operation, q jobs.Page) (jobs.Columns, error)

	// File returns a file that an operation made; one of a compacted operation
	// is computed again.
	File(ctx context.Context, op ktrdr.Operation, name string) ([]byte, error)

	// Pin keeps the files of the research that an operation belongs to, or lets
	// it be compacted, and returns the research.
	Pin(ctx context.Context, id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error)
}
