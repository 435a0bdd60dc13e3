// Package worker claims operations from a backend and runs them, whether the
// backend is in the same process or at the other end of a network.
//
//	            ┌──────── Worker ────────┐
//	Register ◀──┤ maintainConnection     │  re-registers after every outage,
//	            │   └─ drain ◀── spool   │  then delivers what was spooled
//	Heartbeat ◀─┤ beat                   │  one call for everything it runs
//	Claim ◀─────┤ poll ──▶ job, job, …   │  a goroutine per claim
//	writes ◀────┤            └─ deliver  │  to the backend, or to the spool
//	            └────────────────────────┘
//
// A worker without a connection continues computing: the epoch of its claim keeps it from doing
// harm. It writes to its spool instead, in order per operation. The spool is delivered when the
// backend is back, by this process or by the next one on the same folder.
//
// Memory holds the files of saves that are under way, not copied, and the state of a checkpoint that
// is loaded (at most ktrdr.MaxState). Artifacts are read from disk, those of the spool too. Only what
// the disk refuses stays in memory until it is delivered: of each operation its newest progress, its
// end, and a few checkpoints with copies of their files.
package worker
