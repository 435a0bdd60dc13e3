// Package worker claims operations from a backend and runs them, whether the
// backend is in the same process or at the other end of a network.
//
//	            ┌──────── Worker ────────┐
//	Register ◀──┤ keepInTouch            │  re-registers after every outage,
//	            │   └─ drain ◀── spool   │  then delivers what was spooled
//	Heartbeat ◀─┤ beat                   │  one call for everything it runs
//	Claim ◀─────┤ poll ──▶ job, job, …   │  a goroutine per claim
//	writes ◀────┤            └─ deliver  │  to the backend, or to the spool
//	            └────────────────────────┘
//
// A worker out of touch goes on computing: the epoch of its claim keeps it from doing harm. What it
// would have written goes to its spool, in order per operation, and is delivered when the backend
// is back, by this process or by the next one on the same folder.
//
// In memory are the files that runners have given to a save or a final checkpoint that is under
// way, uncopied, and of a checkpoint that is loaded its state (at most ktrdr.MaxState); artifacts
// are read from where they lie, also those of the spool. Only what the disk refuses is held in
// memory until it is delivered: of each operation the last word on its progress, its end and a few
// checkpoints, the files of which are then copied.
package worker
