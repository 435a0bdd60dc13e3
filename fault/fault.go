// Package fault marks the durable steps of the product, so that a test can
// kill the process at each of them. In an ordinary build Hit is empty and
// disappears; with the build tag "failpoint" the environment variable
// KTRDR_FAILPOINT=name[@n] makes the n-th Hit of that name (the first, if n is
// not given) end the process with SIGKILL. Passings count only once the file
// named by KTRDR_FAILPOINT_ARMED_BY exists, if it is set.
package fault

// Point names a durable step.
type Point string

// The durable steps, in the order in which a write passes them.
const (
	BlobCreated   Point = "blob.created"   // temporary file exists, nothing written
	BlobWritten   Point = "blob.written"   // bytes written, not synced
	BlobSynced    Point = "blob.synced"    // bytes durable under the temporary name
	BlobRenamed   Point = "blob.renamed"   // final name, directory not synced
	BlobDurable   Point = "blob.durable"   // directory synced
	TxBegun       Point = "tx.begun"       // transaction open, nothing written
	TxCommitting  Point = "tx.committing"  // everything written, before COMMIT
	TxCommitted   Point = "tx.committed"   // COMMIT returned, caller not told
	Answering     Point = "http.answering" // work done, answer not sent
	Answered      Point = "http.answered"  // answer written
	SpoolWritten  Point = "spool.written"  // entry written, not synced
	SpoolSynced   Point = "spool.synced"   // entry durable under the temporary name
	SpoolRenamed  Point = "spool.renamed"  // final name, directory not synced
	SpoolDurable  Point = "spool.durable"  // directory synced
	SpoolSent     Point = "spool.sent"     // delivered, entry not removed
	WorkerClaimed Point = "worker.claimed" // claim received, work not begun
	WorkerSaving  Point = "worker.saving"  // before a checkpoint is sent
	WorkerSaved   Point = "worker.saved"   // a checkpoint was acknowledged
	WorkerEnding  Point = "worker.ending"  // work done, result not sent
	WorkerEnded   Point = "worker.ended"   // result acknowledged
	LookClosing   Point = "look.closing"   // a generation has ended, nothing written
	LookReserved  Point = "look.reserved"  // the number is taken, not committed
	LookClosed    Point = "look.closed"    // the number is durable, the confirmation waits
	LookReading   Point = "look.reading"   // the confirmation runs, the holdout is not read
	LookTraded    Point = "look.traded"    // the holdout is traded, the result not sent
	LookEnding    Point = "look.ending"    // the result is written, not committed

	// The step that follows a claim over new bars.
	ClaimReading   Point = "claim.reading"   // it runs, no bar is read
	ClaimFollowed  Point = "claim.followed"  // the bars are traded, the result is not sent
	ClaimAdvancing Point = "claim.advancing" // the row of the claim is about to change, nothing is committed
	ImportCopied   Point = "import.copied"   // the temporary copy of a price file is there, nothing is read
	FetchPiece     Point = "fetch.piece"     // a piece is fetched, not saved

	RestoreMarked   Point = "restore.marked"   // the folder is marked, the backup not read
	RestoreProved   Point = "restore.proved"   // the backup is whole, nothing is removed
	RestoreCleared  Point = "restore.cleared"  // what an earlier restore left is removed
	RestoreBegun    Point = "restore.begun"    // the mark names what is made, nothing is made
	RestoreOpened   Point = "restore.opened"   // the database has its tables
	RestoreLoaded   Point = "restore.loaded"   // rows and blobs are there, not bound
	RestoreBound    Point = "restore.bound"    // bound; both marks are there
	RestoreUnmarked Point = "restore.unmarked" // the folder's mark is gone, the database's is there
)

// Points lists every point; a test kills a process at each.
var Points = []Point{
	BlobCreated, BlobWritten, BlobSynced, BlobRenamed, BlobDurable,
	TxBegun, TxCommitting, TxCommitted, Answering, Answered,
	SpoolWritten, SpoolSynced, SpoolRenamed, SpoolDurable, SpoolSent,
	WorkerClaimed, WorkerSaving, WorkerSaved, WorkerEnding, WorkerEnded,
	LookClosing, LookReserved, LookClosed, LookReading, LookTraded, LookEnding,
	ClaimReading, ClaimFollowed, ClaimAdvancing, ImportCopied, FetchPiece,
	RestoreMarked, RestoreProved, RestoreCleared, RestoreBegun, RestoreOpened, RestoreLoaded, RestoreBound, RestoreUnmarked,
}
