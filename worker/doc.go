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
// A worker out of touch goes on computing: the epoch of its claim keeps it
// from doing harm. What it would have written goes to its spool, in order per
// operation, and is delivered when the backend is back, by this process or by
// the next one on the same folder.
package worker
