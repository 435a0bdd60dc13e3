package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/thread"
)

// Operations.
var (
	ListOperations = get[ktrdr.OperationQuery, []OperationRow]("/operations",
		"Operations, newest first: rows without spec, state and result, which GET /operations/{id} has")
	GetOperation = get[ByID, ktrdr.Operation]("/operations/{id}", "One operation")
	Children     = get[ChildrenRequest, []OperationRow]("/operations/{id}/children", "An operation's children, newest first")
	Metrics      = get[ByID, OperationMetrics]("/operations/{id}/metrics", "How far an operation is, in numbers")
	GetResults   = get[ResultsRequest, Results]("/operations/{id}/results",
		"The result of an operation, the files that it made and, of a backtest, pages of its columns")
	GetInputs = get[InputsRequest, jobs.Inputs]("/operations/{id}/inputs",
		"A window of the bars that a training read, with the indicator values and memberships of its strategy, and the shapes of its fuzzy sets")
	Cancel = del[CancelRequest, CancelReply]("/operations/{id}", "Cancel an operation and everything below it")
	Resume = post[ResumeRequest, ResumeReply]("/operations/{id}/resume", "Continue a failed or cancelled operation from its newest "+
		"checkpoint whose blobs are there, or from a chosen one; if its worker finds them damaged, from the one before")
	Retry = post[ByID, Started]("/operations/{id}/retry", "Make a new operation with the same spec, from the beginning", creates)
	File  = get[FileRequest, Raw]("/operations/{id}/files/{name}",
		"A file that an operation made, or a range of it; one of a compacted operation is computed again", bytes)
	ClaimBundle = get[ClaimRequest, Raw]("/operations/{id}/claim",
		"The bundle of a claim: what `ktrdr claim verify` checks on another machine. The operation is a confirmation, or the research that it "+
			"confirmed", bytes)
	Pin = post[ByID, PinReply]("/operations/{id}/pin",
		"Keep the files of the research that an operation belongs to; files that are not kept are computed again first")
	Unpin = del[ByID, PinReply]("/operations/{id}/pin",
		"Let the research that an operation belongs to be compacted if it claims nothing")
	OperationEvents = get[OperationEventsRequest, Raw]("/operations/{id}/events",
		"An operation's events from the beginning, as a stream or, with Accept: application/json, as pages", stream)
	Events = get[AllEventsRequest, Raw]("/events",
		"All events from now on unless told from where, as a stream or, with Accept: application/json, as pages", stream)
	StartDummy = post[dummy.Spec, Started]("/dummy/start",
		"Start a dummy operation: steps and sleeps, with a hash chain as its result", creates)
	SetPaused = post[PauseRequest, Pause]("/pause", "Stop or allow new claims everywhere")
	Paused    = get[None, Pause]("/pause", "Whether claims are stopped")
)

// Trainings, backtests, imports, and what they are made from.
var (
	StartTraining = post[jobs.TrainingRequest, Started]("/training/start",
		"Train a strategy's network: a durable operation whose result is a model and its figures", creates)
	StartTrainings = post[jobs.TrainingRequest, Started]("/trainings/start", "The same as /training/start", creates)
	StartBacktest  = post[jobs.BacktestRequest, Started]("/backtests/start", "Trade a model's decisions on past bars: none that it was "+
		"trained on, and none of the holdout, unless asked otherwise", creates)
	Predict = post[jobs.PredictionRequest, jobs.Prediction]("/predictions", "Ask a model about the newest bars before the holdout; "+
		"with open_holdout about those of the holdout too, which is a look")
	StartDataLoad = post[jobs.DataLoadRequest, Started]("/data/load",
		"Import a price file into the library; with dry_run only say what an import would do", creates)
	StartDataFetch = post[jobs.DataFetchRequest, Started]("/data/fetch",
		"Fetch bars of a source on the internet and add them to the library; not for pages and assistants", creates)
	Models      = get[Page, []jobs.TrainedModel]("/models", "Trained models, newest first")
	Strategies  = get[None, []jobs.Strategy]("/strategies", "Strategies that can be named")
	AddStrategy = post[jobs.StrategyRequest, jobs.Strategy]("/strategies", "Give the lab a strategy, for every backend",
		answers(http.StatusCreated))
	ValidateStrategy = post[ValidateRequest, strategy.Validation]("/strategies/validate",
		"Check the text of a strategy: problems and warnings with their lines; nothing is stored", asks)
	DeleteStrategy = del[ByName, None]("/strategies/{name}", "Delete a strategy of the lab")
	Indicators     = get[None, []indicator.Description]("/indicators", "Indicators that strategies may use")
	Series         = get[None, []jobs.LibrarySeries]("/data", "Series of bars in the library, with their markets")
	SeriesBars     = get[BarsRequest, jobs.SeriesBars]("/data/{symbol}/{timeframe}/bars",
		"Bars of a series, merged to a number of points; none of its holdout, opened or not")
	DecideMarket   = post[jobs.MarketRequest, jobs.LibrarySeries]("/data/market", "Say to which market a series of the library belongs")
	AcceptFindings = post[jobs.AcceptRequest, jobs.LibrarySeries]("/data/accept",
		"Let research begin on a series in spite of severe findings, which are named by their rules")
	CheckSeries = get[SeriesRequest, jobs.SeriesCheck]("/data/{symbol}/{timeframe}/check",
		"Check a series by the rules of an import, up to where the holdout begins")
	DeleteSeries = del[SeriesRequest, jobs.DeletedSeries]("/data/{symbol}/{timeframe}",
		"Delete a series and those that it replaced; its market keeps its trials and looks")
	RenameSeries = post[jobs.RenameRequest, []jobs.LibrarySeries]("/data/rename",
		"Give all series of a symbol another symbol; they stay in their markets")
)

// Researches, runs, and what they leave.
var (
	Trigger = post[research.Request, research.Triggered]("/agent/trigger",
		"Research a goal, or a strategy: durable operations that design, train, backtest and assess", creates, waits(5*time.Minute))
	StartCalibration = post[research.CalibrationRequest, Started]("/calibrations/start",
		"Measure how often this lab claims an edge on copies of a market that have none: a durable operation", creates, waits(5*time.Minute))
	Calibrations = get[CalibrationsRequest, []research.CalibrationRow]("/calibrations",
		"Calibrations that completed, newest first: false-claim rates, and the weakest edges that are found")
	ResearchStatus = get[StatusRequest, research.Status]("/agent/status",
		"Researches that have not ended, who works for them, and how the last one ended")
	CancelResearch = del[CancelRequest, CancelReply]("/agent/cancel/{id}", "Cancel one research and its children; the others continue")
	Budget         = get[None, research.BudgetStatus]("/agent/budget",
		"How much may be spent on models today; the built-in designer costs nothing")
	LanguageModels = get[None, []llm.ModelHealth]("/agent/models", "Language models that may be asked, in their order")
	Designs        = get[None, []research.WaitingDesign]("/agent/designs",
		"Researches that wait for a strategy of an AI assistant, oldest first")
	SubmitDesign = post[research.DesignRequest, research.SubmittedDesign]("/agent/designs/{id}",
		"Give a research the strategy that it waits for; the same strategy again changes nothing")
	Memory     = get[research.MemoryQuery, research.MemoryPage]("/memory", "What researches left: experiments, hypotheses, trials")
	Experiment = get[ByID, research.ExperimentRow]("/memory/{id}",
		"All that is remembered of one research: figures, strategy, hypotheses, hashes")
	Conversation = get[ByID, agent.Conversation]("/memory/{id}/conversation", "The messages between a research and models")
	Leaderboard  = get[report.LeaderboardQuery, report.Leaderboard]("/leaderboard",
		"The best researches: claims first, then by the deflated Sharpe ratio with the number of trials today")
	Report = get[FullReportRequest, report.Report]("/report",
		"What happened since an instant: researches by outcome, claims, failures, the machine, money")
	Search = get[ReportRequest, report.Search]("/report/search",
		"How many strategies reached each stage, the best so far beside what luck shows, and what the next holdout look needs on each market")
	Panel = get[report.PanelQuery, report.Panel]("/report/panel",
		"What the daily returns of all trials of a run, or on a market, say of the whole search: SPA, StepM, PBO, effective number of trials",
		waits(5*time.Minute))
	Compare = get[CompareRequest, report.Compared]("/compare",
		"2 to 5 researches side by side: figures, daily returns, correlation, differences of the designs, and looks at the holdout in order")
	Runs      = get[ktrdr.RunQuery, []ktrdr.Run]("/runs", "Runs, newest first, with the counts of their researches")
	Run       = get[ByKey, ktrdr.Run]("/runs/{id}", "One run with its request; the id may be shortened as long as it names one run")
	CancelRun = del[CancelRunRequest, ktrdr.Run]("/runs/{id}",
		"Cancel a run: nothing of it starts afterwards, and its open operations are cancelled in batches")
	TestRun = post[research.RunTestRequest, Started]("/runs/{id}/test",
		"Test a whole run on permuted copies of its bars, once: a durable operation. Again it answers with the same operation",
		answers(http.StatusAccepted), waits(5*time.Minute))
	RunEvents = get[ByKey, Raw]("/runs/{id}/events",
		"The run now and again whenever it has changed, until it has ended, as a stream or, with Accept: application/json, once", stream)
	LivingClaims = get[None, research.ClaimsList]("/claims",
		"Claims, newest first: what each claimed and what the bars after it have shown")
	Looks = get[ktrdr.LookQuery, []ktrdr.Look]("/looks",
		"Looks at holdouts, newest first: each with its number on every market, p, adjusted p and claim")
)

// Checkpoints.
var (
	ListCheckpoints = get[ktrdr.CheckpointQuery, []ktrdr.Checkpoint]("/checkpoints",
		"The newest checkpoint of each operation, without its state")
	CheckpointStats = get[None, ktrdr.CheckpointStats]("/checkpoints/stats", "How many checkpoints there are, and how large")
	Cleanup         = post[CleanupRequest, CleanupReply]("/checkpoints/cleanup", "Delete old checkpoints and blobs that nothing names",
		waits(10*time.Minute)) // it reads all of the blob store
	GetCheckpoint     = get[CheckpointRequest, ktrdr.Checkpoint]("/checkpoints/{id}", "An operation's newest checkpoint with its state")
	CheckpointHistory = get[ByID, []ktrdr.CheckpointInfo]("/checkpoints/{id}/history",
		"An operation's checkpoints, newest first, without their states")
	DeleteCheckpoints = del[ByID, DeletedCheckpoints]("/checkpoints/{id}", "Delete the checkpoints of an operation that has ended")
)

// Threads of LangGraph.
var (
	PutThread   = post[thread.Put, thread.Ref]("/threads/put", "Store a checkpoint of a thread", body(threadLimit))
	PutWrites   = post[thread.Writes, None]("/threads/writes", "Store a task's pending writes", body(threadLimit))
	GetThread   = post[thread.Ref, thread.Tuple]("/threads/get", "A checkpoint of a thread, or its newest", body(threadLimit), asks)
	ListThreads = post[thread.Query, []thread.Tuple]("/threads/list", "Checkpoints, newest first", body(threadLimit), asks)
	GetHistory  = post[ThreadHistory, map[string]thread.ChannelHistory]("/threads/history",
		"Channels' writes along the parent chain", body(threadLimit), asks)
	CopyThread    = post[ThreadCopy, None]("/threads/copy", "Copy a thread", body(threadLimit))
	PruneThreads  = post[ThreadPrune, None]("/threads/prune", "Delete threads, or all but their newest checkpoints", body(threadLimit))
	DeleteRuns    = post[ThreadRuns, None]("/threads/runs/delete", "Delete the checkpoints of runs", body(threadLimit))
	LeaseThread   = post[thread.LeaseRequest, thread.Lease]("/threads/lease", "Become the only writer of a thread for a while, or stay it")
	ReleaseThread = post[thread.LeaseRelease, None]("/threads/lease/release", "Give a lease back; one that is over is no error")
	DeleteThread  = del[ThreadRequest, None]("/threads/{thread_id}", "Delete a thread; a missing one is no error")
)

// Workers and blobs.
var (
	Workers        = get[WorkersRequest, []ktrdr.Worker]("/workers", "Workers by their ids", workers)
	RegisterWorker = work[ktrdr.Registration, ktrdr.Registered]("/workers/register",
		"Introduce a worker, at its start and whenever it has been out of touch")
	Heartbeat = work[ktrdr.Heartbeat, ktrdr.Orders]("/workers/heartbeat", "Say what a worker runs; learn what is cancelled or lost")
	Claim     = work[ktrdr.ClaimRequest, ktrdr.ClaimReply]("/workers/claim", "Wait for an operation to run, or for orders",
		waits(MaxPoll+DefaultWait))
	Progress   = work[ktrdr.ProgressReport, None]("/workers/progress", "Overwrite an operation's progress")
	Checkpoint = work[ktrdr.NewCheckpoint, ktrdr.CheckpointInfo]("/workers/checkpoint",
		"Store a checkpoint; its blobs are uploaded before it", body(stateLimit))
	SkipCheckpoint = work[ktrdr.Skip, *ktrdr.StoredCheckpoint]("/workers/skip",
		"Say that a checkpoint cannot be used; learn which one to use instead")
	Finish     = work[ktrdr.Finished, None]("/workers/finish", "End an operation", body(stateLimit))
	Release    = work[ktrdr.Released, None]("/workers/release", "Give an operation back, to be claimed again from its checkpoint")
	Unregister = del[ByKey, None]("/workers/{id}", "Forget a worker that has stopped", workers)
	StatBlob   = get[ByHash, Raw]("/blobs/{sha256}", "A blob's size", onlyWorkers, bytes, method(http.MethodHead))
	GetBlob    = get[ByHash, Raw]("/blobs/{sha256}", "A blob's bytes, or a range of them; people read files of operations", onlyWorkers, bytes)
	PutBlob    = post[PutBlobRequest, Raw]("/blobs/{sha256}", "Store a blob; a worker does so for a claim it holds", workers,
		method(http.MethodPut), body(blobLimit), func(sp *Spec) { sp.Accepts = ContentBytes })
)

// Circuit breakers, tokens, and the server itself.
var (
	Breakers       = get[None, []resilience.Status]("/breakers", "Circuit breakers, and what they have seen")
	BreakerHistory = get[HistoryRequest, []ktrdr.BreakerChange]("/breakers/history", "Changes of breakers, newest first")
	ResetBreaker   = post[BreakerRequest, resilience.Decided]("/breakers/{name}/reset", "Close a breaker; says who and why")
	ForceBreaker   = post[BreakerRequest, resilience.Decided]("/breakers/{name}/force",
		"Hold a breaker OPEN or CLOSED, or set it back to automatic; says who and why")
	Degradation = get[None, resilience.DegradationStatus]("/degradation", "How much of its service the system gives, and what is shed")
	Settings    = get[None, []ktrdr.EffectiveSetting]("/settings", "The settings of this backend, and where each comes from; no secrets")
	CreateToken = post[NewTokenRequest, NewTokenReply]("/tokens", "Make a token; its secret is in this answer and never again",
		answers(http.StatusCreated))
	CreateLink = post[None, Link]("/tokens/link",
		"Make a link that signs one browser in as the token of this request; it is valid for ten minutes",
		answers(http.StatusCreated), forReaders)
	Tokens      = get[None, []ktrdr.Token]("/tokens", "Tokens, without their secrets", func(sp *Spec) { sp.Scopes = nil })
	RevokeToken = del[ByKey, None]("/tokens/{id}", "Revoke a token")
	Health      = get[None, ktrdr.Health]("/health", "How things stand; the one route that needs no token",
		func(sp *Spec) { sp.Public, sp.Bare = true, true })
	ServerMetrics = get[None, Raw]("/metrics", "Numbers for Prometheus", produces("text/plain"))
	RootMetrics   = get[None, Raw]("/metrics", "Numbers for Prometheus", produces("text/plain"),
		func(sp *Spec) { sp.Path = strings.TrimPrefix(sp.Path, Base) })
	OpenAPI = get[None, Raw]("/openapi.json", "This document", workers, produces(ContentJSON))
)

// work is a route for workers and admins.
func work[In, Out any](path, summary string, options ...option) Route[In, Out] {
	return post[In, Out](path, summary, append(options, workers)...)
}

// forReaders lets tokens that may read call the route too.
func forReaders(sp *Spec) { sp.Scopes = readers }

func method(name string) option { return func(sp *Spec) { sp.Method = name } }

// bytes marks a route whose answer is a file.
func bytes(sp *Spec) { sp.Produces, sp.Wait = ContentBytes, TransferTime(blobLimit) }
