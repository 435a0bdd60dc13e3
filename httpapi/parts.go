package httpapi

import (
	"context"
	"io"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/thread"
)

// Engine is what the API needs of the engine behind it.
type Engine interface {
	Work
	Operations
	Runs
	Checkpoints
	Blobs
	Events
	Tokens

	// Saver keeps checkpoints for programs that are not ours.
	Saver() thread.Saver
	// Health tells how things stand, and always answers.
	Health(ctx context.Context) ktrdr.Health
	// Counters tells what this backend did since it started.
	Counters() ktrdr.Counters
}

// Work is a worker's side: what it says over HTTP it could say in process.
type Work interface {
	Register(ctx context.Context, r ktrdr.Registration) (ktrdr.Registered, error)
	Heartbeat(ctx context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error)
	// Claim is held open until there is something to say or the wait is over.
	Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error)
	Progress(ctx context.Context, p ktrdr.ProgressReport) error
	Checkpoint(ctx context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error)
	SkipCheckpoint(ctx context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error)
	Finish(ctx context.Context, f ktrdr.Finished) error
	Release(ctx context.Context, r ktrdr.Released) error
	Unregister(ctx context.Context, id ktrdr.WorkerID) error
	Workers(ctx context.Context) ([]ktrdr.Worker, error)
}

// Operations is a user's side.
type Operations interface {
	Submit(ctx context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	// SubmitAll submits several in their order, all or api.None, each with its key.
	SubmitAll(ctx context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) ([]ktrdr.Operation, error)
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	Cancel(ctx context.Context, id ktrdr.OperationID, reason string) (ktrdr.Operation, []ktrdr.OperationID, error)
	ResumeFrom(ctx context.Context, id ktrdr.OperationID, checkpoint string) (ktrdr.Operation, error)
	Retry(ctx context.Context, id ktrdr.OperationID, key ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	SetPaused(ctx context.Context, paused bool) error
	Paused(ctx context.Context) (bool, error)
}

// Runs is what requests for researches started, and the ledger of trials and
// looks.
type Runs interface {
	FindRun(ctx context.Context, id string) (ktrdr.Run, error)
	Runs(ctx context.Context, q ktrdr.RunQuery) (ktrdr.RunPage, error)
	// CancelRun marks a run: nothing of it starts afterwards.
	CancelRun(ctx context.Context, id, by, reason string) (ktrdr.Run, error)
	Looks(ctx context.Context, q ktrdr.LookQuery) (ktrdr.LookPage, error)
	LookOf(ctx context.Context, op ktrdr.OperationID) (ktrdr.Look, error)
	Trials(ctx context.Context, q ktrdr.TrialQuery) (ktrdr.TrialPage, error)
	// ReserveLook counts a look that no operation makes.
	ReserveLook(ctx context.Context, l ktrdr.NewLook) (ktrdr.Look, error)
}

// Checkpoints is what operations left behind.
type Checkpoints interface {
	History(ctx context.Context, op ktrdr.OperationID) ([]ktrdr.CheckpointInfo, error)
	// CheckpointAt returns one with its state, or the newest when id is "".
	CheckpointAt(ctx context.Context, op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error)
	ListCheckpoints(ctx context.Context, q ktrdr.CheckpointQuery) (ktrdr.CheckpointPage, error)
	DeleteCheckpoints(ctx context.Context, op ktrdr.OperationID) (int, error)
	CheckpointStats(ctx context.Context) (ktrdr.CheckpointStats, error)
	// Cleanup deletes checkpoints older than age and blobs that nothing names.
	Cleanup(ctx context.Context, age time.Duration) (checkpoints, blobs int, err error)
}

// Blobs is content-addressed bytes.
type Blobs interface {
	// MayUpload refuses with CodeStaleEpoch unless the epoch is the live one, or
	// ended with a checkpoint that names the blob.
	MayUpload(ctx context.Context, op ktrdr.OperationID, epoch ktrdr.Epoch, h ktrdr.Hash) error
	// PutBlob stores r, verified while it is written: CodeCorrupt.
	PutBlob(ctx context.Context, want ktrdr.Hash, r io.Reader) (int64, error)
	// MayRead refuses a worker a blob that no operation of a worker names.
	MayRead(ctx context.Context, h ktrdr.Hash) error
	OpenBlob(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error)
	StatBlob(ctx context.Context, h ktrdr.Hash) (int64, error)
}

// Events is the event log.
type Events interface {
	Events(ctx context.Context, q ktrdr.EventQuery) ([]ktrdr.Event, error)
	LastEvent(ctx context.Context) (ktrdr.Cursor, error)
	EventBefore(ctx context.Context, n int) (ktrdr.Cursor, error)
	Changed() <-chan struct{}
}

// Tokens keeps API tokens by their hash.
type Tokens interface {
	AddToken(ctx context.Context, t ktrdr.Token) error
	Tokens(ctx context.Context) ([]ktrdr.Token, error)
	RevokeToken(ctx context.Context, id string) error
	TokenByHash(ctx context.Context, h ktrdr.Hash) (ktrdr.Token, error)
	Links
}

// Desk makes operations of requests for trainings, backtests and imports, and
// knows the library: *jobs.Desk. It refuses a bad request before anything is
// created.
type Desk interface {
	Training(ctx context.Context, r jobs.TrainingRequest) (jobs.Accepted, error)
	Backtest(ctx context.Context, r jobs.BacktestRequest) (jobs.Accepted, error)
	DataLoad(ctx context.Context, r jobs.DataLoadRequest) (jobs.Accepted, error)
	DataFetch(ctx context.Context, r jobs.DataFetchRequest) (jobs.Accepted, error)
	Predict(ctx context.Context, r jobs.PredictionRequest) (jobs.Prediction, error)

	// Models returns a page of trained models, newest first, and where the next
	// begins.
	Models(ctx context.Context, limit int, cursor string) ([]jobs.TrainedModel, string, error)
	Strategies(ctx context.Context) ([]jobs.Strategy, error)
	AddStrategy(ctx context.Context, r jobs.StrategyRequest) (jobs.Strategy, error)
	// ValidateStrategy says what is wrong with the text of a strategy.
	ValidateStrategy(text string) strategy.Validation
	DeleteStrategy(ctx context.Context, name string) error
	Indicators() []indicator.Description
	Series(ctx context.Context) ([]jobs.LibrarySeries, error)
	CheckSeries(ctx context.Context, symbol, timeframe string) (jobs.SeriesCheck, error)
	// FixHoldouts sets where holdouts begin that have no start yet: those of a symbol,
	// or all for "".
	FixHoldouts(ctx context.Context, symbol string) error
	DeleteSeries(ctx context.Context, symbol, timeframe string) (jobs.DeletedSeries, error)
	RenameSeries(ctx context.Context, r jobs.RenameRequest) ([]jobs.LibrarySeries, error)
	AcceptFindings(ctx context.Context, r jobs.AcceptRequest, by string) (jobs.LibrarySeries, error)
	DecideMarket(ctx context.Context, r jobs.MarketRequest) (jobs.LibrarySeries, error)

	// Bars returns bars of a series, none of them of its holdout.
	Bars(ctx context.Context, symbol, timeframe string, q jobs.BarsQuery) (jobs.SeriesBars, error)
	// Inputs returns what the network of a training reads.
	Inputs(ctx context.Context, op ktrdr.Operation, q jobs.InputsQuery) (jobs.Inputs, error)
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
	// ClaimBundle is the bundle of a claim, with its bars or without; CodeConflict says
	// why there is no claim.
	ClaimBundle(ctx context.Context, id ktrdr.OperationID, bars bool) ([]byte, error)
	// WaitingDesigns lists researches that wait for a strategy of an assistant.
	WaitingDesigns(ctx context.Context) ([]research.WaitingDesign, error)
	// SubmitDesign gives one of them its strategy.
	SubmitDesign(ctx context.Context, r research.DesignRequest) (research.SubmittedDesign, error)
	// Status lists that number of waiting researches at most.
	Status(ctx context.Context, waiting int) (research.Status, error)
	Budget(ctx context.Context) (research.BudgetStatus, error)
	// Memory returns a page of one kind, newest first, and where the next begins.
	Memory(ctx context.Context, q research.MemoryQuery) (research.MemoryPage, string, error)
	Experiment(ctx context.Context, id ktrdr.OperationID) (research.ExperimentRow, error)
	// Calibrate makes the operation of a calibration.
	Calibrate(ctx context.Context, r research.CalibrationRequest) (jobs.Accepted, error)
	// Calibrations lists those that completed, newest first, of a market or of all.
	Calibrations(ctx context.Context, market string) ([]research.CalibrationRow, error)
	// CalibrationQuote is the sentence about the newest calibration of markets, for the claim of a trial.
	CalibrationQuote(ctx context.Context, of *ktrdr.Trial, markets []ktrdr.LookMarket) (string, error)
	// TestRun makes the test of a run, or returns the one there is; CodeConflict says why
	// a run cannot be tested.
	TestRun(ctx context.Context, r research.RunTestRequest) (ktrdr.Operation, error)
	Conversation(ctx context.Context, id ktrdr.OperationID) (agent.Conversation, error)
	Leaderboard(ctx context.Context, q report.LeaderboardQuery) (report.Leaderboard, error)
	Report(ctx context.Context, q report.Query) (report.Report, error)
	Search(ctx context.Context, q report.Query) (report.Search, error)
	// Panel judges the daily returns of all trials of a search.
	Panel(ctx context.Context, q report.PanelQuery) (report.Panel, error)
	// Ladder says where a research stands; nil before it has ended.
	Ladder(ctx context.Context, op ktrdr.Operation) (*research.Ladder, error)
	// Claims lists the looks that succeeded and what the bars after each have shown.
	Claims(ctx context.Context) (research.ClaimsList, error)
	// Compare puts researches side by side.
	Compare(ctx context.Context, ids []string) (report.Compared, error)
}

// Resilience keeps the circuit breakers and decides what is shed.
type Resilience interface {
	Breakers() []resilience.Status
	BreakerHistory(ctx context.Context, name string, limit int) ([]ktrdr.BreakerChange, error)
	ResetBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error)
	ForceBreaker(ctx context.Context, name string, d resilience.HumanDecision) (resilience.Decided, error)
	Degradation() resilience.DegradationStatus
	// Models lists the language models that may be asked, in their order.
	Models() []llm.ModelHealth
}
