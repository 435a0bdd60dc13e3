package api

import (
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/thread"
)

// ByID names an operation.
type ByID struct {
	ID ktrdr.OperationID `path:"id" json:"-"`
}

// Page is a page of a list.
type Page struct {
	Limit  int    `query:"limit" doc:"entries of a page, 1 to 1000"`
	Cursor string `query:"cursor" doc:"next_cursor of the page before"`
}

// ChildrenRequest asks for a page of an operation's children.
type ChildrenRequest struct {
	ByID
	Page
}

// CancelRequest asks to cancel an operation.
type CancelRequest struct {
	ByID
	Reason string `query:"reason" max:"500" doc:"why, for people"`
}

// CancelRunRequest asks to cancel a run.
type CancelRunRequest struct {
	ByKey
	Reason string `query:"reason" max:"500" doc:"why, for people"`
}

// ByKey names a run, a worker or a token.
type ByKey struct {
	ID string `path:"id"`
}

// Started is the answer to a request that made an operation.
type Started struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Status    ktrdr.Status      `json:"status"`
	RetryOf   ktrdr.OperationID `json:"retry_of,omitempty"`
	Warnings  []string          `json:"warnings,omitempty"` // what is probably not meant
}

// CalibrationsRequest selects calibrations.
type CalibrationsRequest struct {
	Market string `query:"market" doc:"of this market or symbol only"`
}

// CancelReply says which operations a cancel reached.
type CancelReply struct {
	Operation ktrdr.OperationID   `json:"operation_id"`
	Status    ktrdr.Status        `json:"status"` // still RUNNING until its worker has seen it
	Requested bool                `json:"cancel_requested"`
	Children  []ktrdr.OperationID `json:"cancelled_children"`
}

// ResumeRequest asks to continue an operation.
type ResumeRequest struct {
	ByID
	Checkpoint string `query:"checkpoint" json:"-" max:"255" doc:"resume from this checkpoint; newer ones are left out. By default the newest"`
}

// ResumeReply says where an operation resumes: at the newest checkpoint whose
// blobs are there. If its worker finds them damaged, it resumes at the one
// before, and an event says so.
type ResumeReply struct {
	Operation   ktrdr.OperationID     `json:"operation_id"`
	Status      ktrdr.Status          `json:"status"`
	ResumedFrom *ktrdr.CheckpointInfo `json:"resumed_from"`
}

// OperationMetrics is an operation in numbers.
type OperationMetrics struct {
	Operation      ktrdr.OperationID     `json:"operation_id"`
	Type           ktrdr.Type            `json:"operation_type"`
	Status         ktrdr.Status          `json:"status"`
	Progress       ktrdr.Progress        `json:"progress"`
	Epoch          ktrdr.Epoch           `json:"epoch"`
	Attempts       int                   `json:"attempts"`
	Losses         int                   `json:"losses"`
	MaxStep        int64                 `json:"max_step"`
	RunningSeconds float64               `json:"running_seconds"` // from the first claim to the end, or to the last heartbeat
	Checkpoint     *ktrdr.CheckpointInfo `json:"checkpoint,omitempty"`
}

// OperationRow is an operation in a list. Its fields are named as those of
// ktrdr.Operation, which has more.
type OperationRow struct {
	ID       ktrdr.OperationID `json:"operation_id"`
	Type     ktrdr.Type        `json:"operation_type"`
	Status   ktrdr.Status      `json:"status"`
	Phase    string            `json:"phase,omitempty"`
	Epoch    ktrdr.Epoch       `json:"epoch"`
	Attempts int               `json:"attempts"`
	Priority int               `json:"priority,omitempty"`
	Parent   ktrdr.OperationID `json:"parent_operation_id,omitempty"`
	Root     ktrdr.OperationID `json:"root_operation_id"`
	Ordinal  int               `json:"ordinal,omitempty"`
	HasPlan  bool              `json:"has_plan,omitempty"`
	Run      string            `json:"run,omitempty"`
	Session  int64             `json:"session_id,omitempty"`
	Worker   ktrdr.WorkerID    `json:"worker_id,omitempty"`

	CancelRequested bool        `json:"cancel_requested,omitempty"`
	Progress        RowProgress `json:"progress"`
	Rung            string      `json:"rung,omitempty"`
	ErrorCode       ktrdr.Code  `json:"error_code,omitempty"`
	ErrorMessage    string      `json:"error_message,omitempty"` // at most 300 bytes of it
	Resumable       bool        `json:"resumable,omitempty"`     // it has ended and left a checkpoint

	CreatedAt   time.Time `json:"created_at"`
	StartedAt   time.Time `json:"started_at,omitzero"`
	HeartbeatAt time.Time `json:"heartbeat_at,omitzero"` // of one that has not ended
	CompletedAt time.Time `json:"completed_at,omitzero"`
	NotBefore   time.Time `json:"not_before,omitzero"`

	Unschedulable  string  `json:"unschedulable_reason,omitempty"`
	StalledSeconds float64 `json:"stalled_seconds,omitempty"`
}

// RowProgress is how far an operation is. Only one that has not ended has a
// context.
type RowProgress struct {
	Percentage     float64         `json:"percentage"`
	CurrentStep    string          `json:"current_step,omitempty"`
	StepsCompleted int64           `json:"steps_completed,omitempty"`
	StepsTotal     int64           `json:"steps_total,omitempty"`
	Context        json.RawMessage `json:"context,omitempty"`
}

// ResultsRequest asks for the result of an operation and, of a backtest, for
// pages of its columns.
type ResultsRequest struct {
	ByID
	Include []string  `query:"include" oneof:"trades,equity,positions,curve,returns" doc:"columns of a backtest, a page of each"`
	Trades  string    `query:"trades" oneof:"time,worst" doc:"the order of the trades; by default time"`
	Since   time.Time `query:"since" doc:"only trades that end then or later (RFC 3339)"`
	Points  int       `query:"points" doc:"all of the equity in at most this number of points, 4 to 1000, instead of a page of it"`
	From    time.Time `query:"from" doc:"with points: only bars of the equity that open then or later (RFC 3339)"`
	To      time.Time `query:"to" doc:"with points: only bars of the equity that open before (RFC 3339)"`
	Page
}

// Results is the result of an operation; Results is null until it has ended. The
// columns are there when they were asked for.
type Results struct {
	Operation    ktrdr.OperationID `json:"operation_id"`
	Type         ktrdr.Type        `json:"operation_type"`
	Status       ktrdr.Status      `json:"status"`
	Results      json.RawMessage   `json:"results"`
	Artifacts    []Download        `json:"artifacts"`
	Compacted    bool              `json:"compacted,omitempty"` // its files are not kept; they are computed again on demand
	ErrorMessage string            `json:"error_message,omitempty"`
	Error        *ktrdr.Failure    `json:"error,omitempty"`
	Calibration  string            `json:"calibration,omitempty"` // beside a claim: how often this lab claims falsely on the market

	Trades    []jobs.Trade          `json:"trades,omitempty"`
	Equity    []jobs.Point          `json:"equity,omitempty"` // of several symbols: the sum of their accounts
	Positions []jobs.Point          `json:"positions,omitempty"`
	Accounts  []jobs.AccountColumns `json:"accounts,omitempty"` // equity and positions of each symbol, where there are several
	Curve     *evidence.Curve       `json:"curve,omitempty"`
	Returns   []jobs.Point          `json:"returns,omitempty"` // net, of each day, as fractions

	Trial *ktrdr.Trial `json:"trial,omitempty"` // its row in the ledger, with the counts of its market now
	Looks []ktrdr.Look `json:"looks,omitempty"` // that it is, or that were made at the strategy of a research

	Ladder      *research.Ladder        `json:"ladder,omitempty"`      // of a research: where its strategy stands, and what would move it on
	Examination *jobs.ExaminationResult `json:"examination,omitempty"` // of a finalist, when its generation is closed
}

// Download is a file that an operation made, and where its bytes are.
type Download struct {
	ktrdr.Artifact
	URL string `json:"url"`
}

// InputsRequest asks for what a training reads.
type InputsRequest struct {
	ByID
	jobs.InputsQuery
}

// BarsRequest asks for bars of a series.
type BarsRequest struct {
	SeriesRequest
	jobs.BarsQuery
}

// FileRequest asks for a file that an operation made.
type FileRequest struct {
	ByID
	Name string `path:"name"`
}

// ClaimRequest asks for the bundle of a claim.
type ClaimRequest struct {
	ByID
	Bars bool `query:"bars" doc:"also the bars: those that the research saw and those of the holdout"`
}

// PinReply says whether a research is pinned.
type PinReply struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Pinned    bool              `json:"pinned"`
}

// Pause says whether claims are stopped.
type Pause struct {
	Paused bool `json:"paused"`
}

// PauseRequest stops or allows claims; it tells false from absent.
type PauseRequest struct {
	Paused *bool `json:"paused"`
}

// EventsRequest asks for events after a cursor.
type EventsRequest struct {
	After     string            `query:"after" doc:"an event's id: only events after it; the header Last-Event-ID wins"`
	LastEvent string            `header:"Last-Event-ID" doc:"the id of the last event received; the stream resumes after it"`
	Kinds     []ktrdr.EventKind `query:"kind" doc:"only events of these kinds"`
}

// AllEventsRequest asks for the events of all operations.
type AllEventsRequest struct {
	EventsRequest
	Recent int `query:"recent" doc:"start with the newest events, 1 to 1000 of them; not used with after"`
}

// OperationEventsRequest asks for the events of an operation.
type OperationEventsRequest struct {
	ByID
	EventsRequest
	UntilTerminal bool `query:"until_terminal" doc:"end with an event named end when the operation has ended"`
}

// SeriesRequest names a series of bars.
type SeriesRequest struct {
	Symbol    string `path:"symbol"`
	Timeframe string `path:"timeframe"`
}

// ByName names a strategy.
type ByName struct {
	Name string `path:"name"`
}

// ValidateRequest asks what is wrong with a strategy.
type ValidateRequest struct {
	Strategy string `json:"strategy_yaml"`
}

// StatusRequest asks how research stands.
type StatusRequest struct {
	Waiting int `query:"waiting" doc:"how many waiting researches are listed, 1 to 1000; 20 by default. The capacity counts all"`
}

// ReportRequest asks for a report.
type ReportRequest struct {
	Since string `query:"since" doc:"an instant (RFC 3339), a duration such as 12h, or last: the newest spell of research; by default 12h"`
	Run   string `query:"run" doc:"only the researches of this run, from its beginning unless since is given"`
}

// FullReportRequest asks for a report, also with what is not cheap.
type FullReportRequest struct {
	ReportRequest
	Panels bool `query:"panels" doc:"also judge the daily returns of all trials of the run, or of the newest 3 runs: SPA, StepM, PBO"`
}

// CompareRequest asks to compare researches.
type CompareRequest struct {
	IDs []string `query:"ids" doc:"2 to 5 researches: their ids, or enough of the last part of each"`
}

// CheckpointRequest asks for a checkpoint of an operation.
type CheckpointRequest struct {
	ByID
	Checkpoint string `query:"id" doc:"this one instead of the newest"`
}

// CleanupRequest asks to delete old checkpoints.
type CleanupRequest struct {
	MaxAge *time.Duration `query:"max_age_days" json:"-" doc:"age from which checkpoints are deleted; 30 when absent"`
}

// CleanupReply says how much a cleanup deleted.
type CleanupReply struct {
	Checkpoints int `json:"checkpoints_deleted"`
	Blobs       int `json:"blobs_deleted"`
}

// DeletedCheckpoints says how many checkpoints an operation had.
type DeletedCheckpoints struct {
	Operation ktrdr.OperationID `json:"operation_id"`
	Deleted   int               `json:"checkpoints_deleted"`
}

// ThreadHistory asks for the histories of channels up to a checkpoint.
type ThreadHistory struct {
	thread.Ref
	Channels []string `json:"channels"`
}

// ThreadCopy asks to copy a thread.
type ThreadCopy struct {
	Tenant string `json:"tenant,omitempty"`
	Source string `json:"source_thread_id"`
	Target string `json:"target_thread_id"`
}

// ThreadPrune asks to delete threads, or all but their newest checkpoints.
type ThreadPrune struct {
	Tenant   string   `json:"tenant,omitempty"`
	Threads  []string `json:"thread_ids"`
	Strategy string   `json:"strategy"` // keep_latest or delete
}

// ThreadRuns names runs whose checkpoints are deleted.
type ThreadRuns struct {
	Tenant string   `json:"tenant,omitempty"`
	Runs   []string `json:"run_ids"`
}

// ThreadRequest names a thread.
type ThreadRequest struct {
	Thread string `path:"thread_id"`
	Tenant string `query:"tenant" doc:"whose thread it is"`
}

// WorkersRequest asks for workers.
type WorkersRequest struct {
	Live *bool `query:"live" doc:"only those that are alive, or only those that are not"`
}

// ByHash names a blob.
type ByHash struct {
	Hash ktrdr.Hash `path:"sha256"`
}

// PutBlobRequest says for which claim a blob is stored; an admin needs none.
type PutBlobRequest struct {
	ByHash
	Operation string `header:"Ktrdr-Operation" doc:"the operation the blob is for; an admin may leave it out"`
	Epoch     string `header:"Ktrdr-Epoch" doc:"the epoch of the claim"`
}

// BlobStored says what a PUT stored.
type BlobStored struct {
	SHA256 ktrdr.Hash `json:"sha256"`
	Size   int64      `json:"size"`
}

// NewTokenRequest asks for a token.
type NewTokenRequest struct {
	Name  string      `json:"name"`
	Scope ktrdr.Scope `json:"scope"`
}

// NewTokenReply holds the secret. It is the one place where a token crosses the
// wire towards a client, which is why it is a plain string here.
type NewTokenReply struct {
	ktrdr.Token
	Secret string `json:"token"`
}

// Link signs one browser in. Its address is that of the server, with this path.
type Link struct {
	Path      string    `json:"path"`
	ExpiresAt time.Time `json:"expires_at"`
}

// HistoryRequest asks for changes of breakers.
type HistoryRequest struct {
	Name  string `query:"name" doc:"only those of this breaker"`
	Limit int    `query:"limit" doc:"entries, 1 to 1000"`
}

// BreakerRequest is a person's decision about a breaker.
type BreakerRequest struct {
	Name string `path:"name" json:"-"`
	resilience.HumanDecision
}
