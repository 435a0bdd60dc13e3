package ktrdr

import "encoding/json"

// Plan decides what a parent does next. It is asked in the transaction that
// created the parent, ended one of its children or resumed it, and again by
// every sweep, so that no lost wake-up can strand a tree. It is therefore a
// pure function of the rows it is given: asked twice, it answers the same.
type Plan interface {
	Next(parent Operation, children []Operation, why Why) (Decision, error)
}

// Why tells a plan what made the engine ask.
type Why string

// The reasons.
const (
	WhyCreated Why = "created"
	WhyChild   Why = "child"   // a child ended, or a sweep asks again
	WhyResumed Why = "resumed" // dead children are to be resumed, not reported
)

// Decision is what a plan wants done, all of it in the asking transaction. The
// zero Decision means: wait for a child.
type Decision struct {
	Phase    string          // the parent's new phase; empty keeps it
	State    json.RawMessage // the parent's new state; nil keeps it
	Create   []NewOperation  // children to add, in order
	Resume   []OperationID   // ended children to continue
	Finish   *Finished       // the parent is done; Operation and Epoch are filled in
	Progress *Progress       // the parent's new progress; nil keeps it
}

// Changes says whether the decision asks for anything.
func (d Decision) Changes() bool {
	return d.Phase != "" || d.State != nil || len(d.Create) > 0 || len(d.Resume) > 0 || d.Finish != nil || d.Progress != nil
}
