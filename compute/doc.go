// Package compute makes operations of trainings, backtests and imports, runs
// them, and reads what they made:
//
//	jobs.…Request ──Service──▶ spec ──engine──▶ worker ──Runner──▶ result, artifacts
//
// The Service is the backend's side. It checks a request, puts every input into the
// blob store, and makes a spec that names the inputs by their hashes.
//
// A Runner is the worker's side. It may be stopped between any two batches or
// chunks of bars. It is resumed from its checkpoint, on any machine, and ends with
// the same bits: result_hash shows that in one line.
package compute
