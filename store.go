package ktrdr

import (
	"context"
	"encoding/json"
	"iter"
	"time"
)

// Store is the one place where operations live. Every method that writes is
// one transaction that is durable before it returns; a refused write changes
// nothing but, for a stale epoch, adds one write_refused event. Refusals are
// *TransitionError or *Error; CodeUnavailable and CodeUnknownResult mean that
// the same call may be repeated. Every write is idempotent: repeating it changes
// nothing. The second answer is the first one's, except that a repeated Release
// is CodeStaleEpoch.
//
// Only the store's clock decides: no instant is passed in.
//
// Two implementations, SQLite and PostgreSQL, share one text and pass one
// suite, storetest.Run.
type Store interface {
	Operations
	Queues
	Runs
	Markets
	Claims
	Library
	Reports
	Notes
	Checkpoints
	Compaction
	Recovery
	Journal
	Breakers

	// RegisterWorker records the worker and treats Running and Finished as
	// reports. An id stays where it was registered first, inside one backend or
	// outside all of them: from anywhere else it is CodeForbidden.
	RegisterWorker(ctx context.Context, r Registration) (Orders, error)
	// RemoveWorker forgets a worker that has stopped for good. heldBy is the backend
	// it lives in, empty for a process of its own; CodeForbidden when it lives
	// elsewhere.
	RemoveWorker(ctx context.Context, id WorkerID, heldBy Incarnation) error
	// Workers lists them by id; Live is judged by the timeout.
	Workers(ctx context.Context, timeout time.Duration) ([]Worker, error)

	// Events returns events after a cursor in the order of their cursors. An
	// event is shown only when none can come before it any more, so that
	// a reader that continues from the last one misses nothing. It does not wait.
	Events(ctx context.Context, q EventQuery) ([]Event, error)
	// LastEvent returns the cursor of the newest visible event.
	LastEvent(ctx context.Context) (Cursor, error)
	// EventBefore returns the cursor after which the newest n visible events come;
	// the zero cursor if there are no more than n.
	EventBefore(ctx context.Context, n int) (Cursor, error)
	// PruneEvents deletes at most 500 events older than age and says how many.
	PruneEvents(ctx context.Context, age time.Duration) (int, error)

	// SetPaused stops or allows new claims everywhere; Paused tells.
	SetPaused(ctx context.Context, paused bool) error
	Paused(ctx context.Context) (bool, error)

	// Counts counts operations by type and status; Waiting those of them that
	// a worker could claim, by what it would have to offer.
	Counts(ctx context.Context) ([]Count, error)
	Waiting(ctx context.Context) ([]Waiting, error)
	// Stalled lists live operations without a new step for at least after.
	// Parents are not listed.
	Stalled(ctx context.Context, after time.Duration) ([]Stall, error)

	// AddToken, Tokens, RevokeToken and TokenByHash keep API tokens. Only the
	// sha256 of a token is ever stored.
	AddToken(ctx context.Context, t Token) error
	Tokens(ctx context.Context) ([]Token, error)
	RevokeToken(ctx context.Context, id string) error
	TokenByHash(ctx context.Context, h Hash) (Token, error)

	Sessions

	// BindBlobRoot records the identity of the blob root on first use and
	// refuses another with CodeMismatch ever after.
	BindBlobRoot(ctx context.Context, identity string) error

	// Changed returns a channel that is closed after the next committed event;
	// Ready one that is closed after the next commit that concerns workers: an
	// operation became PENDING, or a claim was cancelled or lost. Both are
	// hints; polling is the truth.
	Changed() <-chan struct{}
	Ready() <-chan struct{}

	// Info describes the store for health and doctor.
	Info(ctx context.Context) (StoreInfo, error)

	Close() error
}

// Operations is the life of operations, one method per Input of Step.
type Operations interface {
	// Create stores a new PENDING operation. One with a plan is claimed and
	// its plan asked in the same transaction, unless it has to wait in its
	// queue; where there is no room and it was not forced, it is
	// CodeAtCapacity and nothing is created. A key seen before returns the
	// operation it made; with another body it is CodeKeyReused.
	Create(ctx context.Context, op NewOperation, key IdempotencyKey) (Operation, error)

	// CreateAll is Create for one after the other in one transaction: all are
	// created or none, in their order. Each has its own key; keys may be nil.
	// At most MaxCreate, so that no other caller waits for long.
	CreateAll(ctx context.Context, ops []NewOperation, keys []IdempotencyKey) ([]Operation, error)

	// Operation returns one; CodeNotFound.
	Operation(ctx context.Context, id OperationID) (Operation, error)

	// List returns a page, newest first unless another order is asked for.
	List(ctx context.Context, q OperationQuery) (OperationPage, error)

	// Claim hands out the next PENDING operation the worker can run: highest
	// priority, then oldest root, then id. A nil task means that no operation waits, or
	// claims are paused. The same key again returns the same claim while it is
	// live.
	Claim(ctx context.Context, c ClaimRequest, heldBy Incarnation) (*Task, error)

	// Report refreshes the worker's claims, brings reconciling ones back to
	// RUNNING and returns what is cancelled or lost. It never waits behind
	// other writers.
	Report(ctx context.Context, h Heartbeat) (Orders, error)

	// Orders returns what Report would, without writing.
	Orders(ctx context.Context, running []Claimed) (Orders, error)

	// SaveProgress overwrites the progress.
	SaveProgress(ctx context.Context, p ProgressReport) error

	// Finish ends an operation and, in the same transaction, stores its last
	// checkpoint and advances its open parent. The same finish again is
	// answered as the first was; one with another outcome, result, error or
	// checkpoint is CodeKeyReused and changes nothing. After a cancel all are
	// the same but for their checkpoint.
	Finish(ctx context.Context, f Finished) (Operation, error)

	// Answer ends a PENDING operation that a client answers instead of a worker, as
	// COMPLETED with this result: Step's claim and finish in one transaction, which also
	// advances its open parent. CodeConflict when it is not PENDING, or its run was
	// cancelled.
	Answer(ctx context.Context, id OperationID, result json.RawMessage) (Operation, error)

	// Release gives an operation back; it cannot be claimed before its wait, if it
	// has one, is over. A second Release is CodeStaleEpoch: the caller no longer
	// holds the operation.
	Release(ctx context.Context, r Released) error

	// Cancel cancels an operation and its open descendants; the ids of those
	// it reached are returned. CodeConflict on a terminal operation.
	Cancel(ctx context.Context, id OperationID, reason string) (Operation, []OperationID, error)

	// Resume continues a FAILED or CANCELLED operation under the same id; one
	// concurrent caller wins and the rest get CodeConflict. CodeNoCheckpoint
	// when it has no checkpoint.
	Resume(ctx context.Context, id OperationID) (Operation, error)

	// ResumeFrom is Resume from one of the operation's checkpoints: the newer
	// ones are skipped in the same transaction. CodeNotFound when there is no such
	// checkpoint, or it was skipped before.
	ResumeFrom(ctx context.Context, id OperationID, checkpoint string) (Operation, error)
}

// Queues is where parents wait for their turn.
type Queues interface {
	// StartQueued starts the waiting parents of a queue whose turn has come,
	// one transaction each, until the limit is reached. Concurrent calls, also of
	// Create, never start more; only a resume does.
	StartQueued(ctx context.Context, name string, limit int) (started int, err error)

	// InQueue lists the operations of a queue, at most that number of waiting ones,
	// and those that ended. There may be thousands, so that of the waiting and ended
	// ones only a few columns are read: neither spec, state nor result.
	InQueue(ctx context.Context, name string, most int) (QueueState, error)

	// QueueCounts counts every queue that is not empty, by name.
	QueueCounts(ctx context.Context) ([]QueueCount, error)
}

// Notes is what plans have noted. Nothing deletes them.
type Notes interface {
	// Notes returns a page. A note is there as soon as the transaction that
	// wrote it has ended.
	Notes(ctx context.Context, q NoteQuery) (NotePage, error)

	// CountNotes counts by kind what a query selects, all pages of it.
	CountNotes(ctx context.Context, q NoteQuery) (map[string]int64, error)

	// Horizon is the newest note, to be pinned: the set of notes at or before
	// it never changes, not even by way of a backup.
	Horizon(ctx context.Context) (string, error)
}

// Checkpoints is what operations leave behind.
type Checkpoints interface {
	// SaveCheckpoint stores a checkpoint whose blobs are already durable. The
	// same (operation, epoch, seq) again is answered as the first was. A state
	// over InlineState is given by its blob instead.
	SaveCheckpoint(ctx context.Context, c NewCheckpoint, state *Artifact) (CheckpointInfo, error)

	// Checkpoint returns one, or the newest when id is "". StateBlob is set
	// when the state is a blob. CodeNotFound.
	Checkpoint(ctx context.Context, op OperationID, id string) (StoredCheckpoint, error)

	// History lists an operation's checkpoints, newest first.
	History(ctx context.Context, op OperationID) ([]CheckpointInfo, error)

	// SkipCheckpoint records, for the live epoch, that a checkpoint could not
	// be used and hides it from Checkpoint(op, ""); the previous one is now the
	// newest. Skipping it again changes nothing.
	SkipCheckpoint(ctx context.Context, s Skip) error

	// ListCheckpoints returns the newest checkpoint of each operation, newest
	// operation first, keyset-paged.
	ListCheckpoints(ctx context.Context, q CheckpointQuery) (CheckpointPage, error)

	// DeleteCheckpoints deletes an operation's checkpoints; CodeConflict while
	// it is live, CodeNotFound when there are none.
	DeleteCheckpoints(ctx context.Context, op OperationID) (int, error)

	// CheckpointStats sums them up.
	CheckpointStats(ctx context.Context) (CheckpointStats, error)

	// ExpireCheckpoints deletes at most 500 checkpoints older than age, never
	// the newest two of an operation that is not terminal and never a final
	// one, and expired threads of others whose owner set a TTL.
	ExpireCheckpoints(ctx context.Context, age time.Duration) (int, error)

	// BlobGiven says whether a worker outside the backends may know a blob: it
	// is named by the spec or by a checkpoint of an operation that such a
	// worker runs.
	BlobGiven(ctx context.Context, h Hash) (bool, error)

	// BlobRefs yields every blob that some row names.
	BlobRefs(ctx context.Context) iter.Seq2[BlobRef, error]
}

// Compaction lets go of files that are not needed any more. The blobs that a
// method returns are candidates: another row may still name them.
type Compaction interface {
	// Supersede deletes the checkpoints of a live operation behind the newest
	// two that can be used, and returns the blobs that they named.
	Supersede(ctx context.Context, op OperationID) ([]Hash, error)

	// Compact compacts at most 50 researches that have ended: their rows keep
	// spec and figures, and their checkpoints are deleted. A finalist, a
	// research that was looked at, a pinned one, one whose generation is not
	// closed, one that can be resumed and one of whose children runs stay as they
	// are. It returns how many were compacted and the blobs that their rows named,
	// also beside an error, which is about others.
	Compact(ctx context.Context) (researches int, blobs []Hash, err error)

	// SetPinned pins or unpins the research that an operation belongs to and
	// returns the research; CodeInvalid when it belongs to none. A compacted
	// research is pinned only when restored says that its blobs are back, and
	// is no longer compacted then; else it is CodeConflict.
	SetPinned(ctx context.Context, id OperationID, pinned, restored bool) (Operation, error)

	// BlobsNamed returns those of the blobs that a checkpoint of an operation names
	// or, unless only these are asked for, any other row of BlobRefs.
	BlobsNamed(ctx context.Context, blobs []Hash, onlyCheckpoints bool) (map[Hash]bool, error)

	// BackupRunning says whether a backup is being written. It copies the blobs
	// that rows named when it began: none may be deleted meanwhile.
	BackupRunning(ctx context.Context) (bool, error)
}

// Recovery is what the engine's sweeps need. Each method is idempotent and
// safe to run from several backends at once.
type Recovery interface {
	// Start records a backend's new life and reconciles what earlier lives
	// left: outside workers' operations go to PENDING_RECONCILIATION unless
	// another backend is live and their heartbeat is fresh; what earlier lives
	// of this backend, or (alone) any backend, held in process goes by policy.
	Start(ctx context.Context, b Backend, p RecoveryPolicy) (Recovered, error)

	// Beat says that the backend is alive.
	Beat(ctx context.Context, b Backend) error

	// Leave says that the backend is stopping and holds nothing.
	Leave(ctx context.Context, b Backend) error

	// AskPlans asks the plan of every live parent whether there is work
	// that no event has announced, and does it. moved counts the parents that had
	// some; for the others nothing is written.
	AskPlans(ctx context.Context) (moved int, err error)

	// Sweep recovers what backends held that are known to be gone, and asks the
	// plans as AskPlans does. Only when judge is true does
	// silence count: then it also recovers what backends held that were silent
	// for the timeout, and fails operations whose last heartbeat is that old,
	// or ends them CANCELLED if that was asked: conditional updates whose
	// WHERE holds status, epoch and staleness, on the store's clock.
	Sweep(ctx context.Context, b Backend, p RecoveryPolicy, judge bool) (Recovered, error)
}

// Backend is one life of a backend process.
type Backend struct {
	ID          string      `json:"backend_id"` // stable: kept in the data folder
	Incarnation Incarnation `json:"incarnation"`
	Addr        string      `json:"addr,omitempty"`
	Host        string      `json:"host,omitempty"`
	PID         int         `json:"pid,omitempty"`
	Version     string      `json:"version,omitempty"`
}

// RecoveryPolicy says how work without a keeper is treated.
type RecoveryPolicy struct {
	Timeout    time.Duration // silence that makes an orphan
	Late       time.Duration // silence that makes a potential one: two heartbeats
	AutoResume bool          // resume an open parent's child whose worker died
	FailLocal  bool          // RESTART_POLICY=fail: fail what a dead backend held; else it is restarted as its type declares
}

// Recovered is what a sweep did and saw.
type Recovered struct {
	Orphaned    []Orphan // failed or cancelled because of a silent worker
	Requeued    []OperationID
	Failed      []OperationID // of a dead backend, by policy
	Reconciling []OperationID
	Complete    bool          // every silence was looked at; an error beside it is about the rest
	Potential   int           // live operations two heartbeats late
	NextOrphan  time.Duration // until the oldest heartbeat reaches the timeout; 0 when nothing is live
}

// Orphan is one operation whose worker died.
type Orphan struct {
	Operation OperationID
	Epoch     Epoch
	Worker    WorkerID
	Silent    time.Duration
	Poison    bool
	Resumed   bool
}

// MaxCreate is how many operations CreateAll creates at once.
const MaxCreate = 100

// IdempotencyKey makes a creating request repeatable; the zero key does not.
type IdempotencyKey struct {
	Key  string
	Body Hash // of the request the key came with
}

// OperationQuery selects operations; zero fields select all.
type OperationQuery struct {
	Status     []Status      `query:"status" doc:"statuses, in either case"`
	Type       []Type        `query:"type" doc:"operation types, in either case"`
	ActiveOnly bool          `query:"active_only" doc:"only PENDING, RUNNING and PENDING_RECONCILIATION"`
	Resumable  bool          `query:"resumable" doc:"only FAILED or CANCELLED ones with a checkpoint"`
	Parent     OperationID   `query:"parent" doc:"only children of this operation"`
	Parents    []OperationID `query:"parents" doc:"only children of these operations"`
	Run        string        `query:"run" doc:"only the researches of this run"`
	Roots      bool          `query:"roots" doc:"only operations without a parent"`
	Search     string        `query:"q" max:"96" doc:"only those with this text in their id"`
	Brief      bool          // without spec, state, metadata and result, which lists do not show
	Sort       Sort          `query:"sort" doc:"the order; by default newest"`
	Limit      int           `query:"limit" doc:"entries of a page, 1 to 1000; by default 50"`
	Cursor     string        `query:"cursor" doc:"next_cursor of the page before, with the same sort"`
}

// Sort is the order of a list.
type Sort string

// The orders. Ended also leaves out what has not ended.
const (
	Newest Sort = "newest" // created last first
	Oldest Sort = "oldest" // created first first
	Ended  Sort = "ended"  // ended last first
)

// Sorts lists every order.
var Sorts = []Sort{Newest, Oldest, Ended}

// OperationPage is a page and the cursor of the next; an empty cursor ends.
type OperationPage struct {
	Operations []Operation `json:"operations"`
	Next       string      `json:"next_cursor,omitempty"`
}

// CheckpointQuery selects operations' newest checkpoints.
type CheckpointQuery struct {
	OlderThan time.Duration `query:"older_than_days" doc:"only checkpoints at least so old"`
	Limit     int           `query:"limit" doc:"entries of a page, 1 to 1000"`
	Cursor    string        `query:"cursor" doc:"next_cursor of the page before"`
}

// CheckpointPage is a page of newest checkpoints.
type CheckpointPage struct {
	Checkpoints []Checkpoint `json:"checkpoints"` // State is nil
	Next        string       `json:"next_cursor,omitempty"`
}

// CheckpointStats sums up operations' checkpoints.
type CheckpointStats struct {
	Total  int64     `json:"total_checkpoints"`
	Bytes  int64     `json:"total_size_bytes"`
	Oldest time.Time `json:"oldest_checkpoint,omitzero"`
}

// StoredCheckpoint is a checkpoint whose state may be a blob.
type StoredCheckpoint struct {
	Checkpoint
	StateBlob *Artifact `json:"state_blob,omitempty"`
}

// BlobRef is a row's reference to a blob.
type BlobRef struct {
	Artifact
	Operation  OperationID // or a foreign thread's id
	Checkpoint string
	Series     string // symbol and timeframe, if it holds the prices of a series
	Bars       bool   // it is the bars file of the series, which the library names
}

// EventQuery selects events after a cursor.
type EventQuery struct {
	Operation OperationID // empty: all
	Kinds     []EventKind // empty: all
	After     Cursor
	Limit     int // 1..1000; 0 means 500
}

// Count is how many operations of a type have a status.
type Count struct {
	Type   Type   `json:"operation_type"`
	Status Status `json:"status"`
	N      int64  `json:"count"`
}

// Waiting is how many PENDING operations need a worker of a kind.
type Waiting struct {
	Type         Type
	BackendLocal bool
	N            int64
	Oldest       time.Duration // how long the oldest of them has waited: since it was created, released or due
}

// Stall is how long a live operation has not moved.
type Stall struct {
	Operation OperationID
	For       time.Duration
}

// Scope says what a token may do. Admin may do everything.
type Scope string

// The scopes.
const (
	ScopeAdmin  Scope = "admin"
	ScopeWorker Scope = "worker"
	ScopeRead   Scope = "read"
	// ScopeAssistant is for an AI assistant: it may look at the lab and start work, and
	// never sees a holdout.
	ScopeAssistant Scope = "assistant"
)

// Scopes lists them.
var Scopes = []Scope{ScopeAdmin, ScopeWorker, ScopeRead, ScopeAssistant}

// Token is what is known of an API token. The token itself is shown once.
type Token struct {
	ID        string    `json:"token_id"`
	Name      string    `json:"name"`
	Scope     Scope     `json:"scope"`
	Hash      Hash      `json:"-"`
	CreatedAt time.Time `json:"created_at"`
	RevokedAt time.Time `json:"revoked_at,omitzero"`
}

// StoreInfo describes a store.
type StoreInfo struct {
	Kind     string          `json:"kind"`    // sqlite or postgres
	Version  string          `json:"version"` // of the engine
	Schema   int64           `json:"schema_version"`
	Location string          `json:"location"`      // without secrets
	Lab      string          `json:"lab,omitempty"` // the identity of the blobs it is bound to, which all backends of a lab share
	Detail   json.RawMessage `json:"detail,omitempty"`
}
