// Package engine keeps operations alive: it hands them to workers, listens for heartbeats, notices
// silence, recovers what dead processes held, and passes on cancels. It knows operations, claims,
// heartbeats and checkpoints; it knows no phase of any research.
//
//	user ──Submit, Cancel, Resume──▶ ┌────────┐ ◀──Claim, Heartbeat, Checkpoint, Finish── worker
//	                                 │ engine │
//	          sweep, beat, retention │        │
//	                                 └───┬────┘
//	                     every decision  │  is one conditional statement
//	                                 ┌───▼────┐
//	                                 │ store  │
//	                                 └────────┘
//
// The engine holds no truth of its own. Everything it does is safe to do twice,
// from several backends, or not at all for a while: the loops are level-triggered
// and start from the rows each time, so that restart is not a special case.
package engine
