// Package labtest runs the product as its users do: it builds the binary, starts
// backends, workers and commands as real processes, on SQLite or PostgreSQL,
// kills, stops and continues them, and waits for conditions with a deadline. When
// a test ends, its processes and files are gone. The logs of a failed test are
// printed.
//
// A test reads like this:
//
//	lab := labtest.New(t, labtest.SQLite, labtest.Quick)
//	backend := lab.Serve()
//	worker := lab.Worker()
//	op := lab.Submit(dummy.Spec{Steps: 100, StepMS: 20, CheckpointEvery: 5})
//	worker.Kill()
//	lab.Ends(op, ktrdr.Failed)
//	lab.Audit()
//
// Audit asks the store, the blobs and the event log whether anything was lost,
// done twice or changed.
package labtest
