// Package chaos proves the product from outside: it starts real backends and
// workers, kills, stops and continues them, and then asks the store, the blobs
// and the event log whether anything was lost, doubled or changed.
//
// A test reads as a night:
//
//	lab := chaos.New(t, chaos.SQLite)
//	backend := lab.Serve()
//	worker := lab.Worker()
//	op := lab.Submit(dummy.Spec{Steps: 100, StepMS: 20, CheckpointEvery: 5})
//	worker.Kill()
//	lab.Ends(op, ktrdr.Failed)
//	lab.Audit()
package chaos
