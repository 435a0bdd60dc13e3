package ktrdr

import "encoding/json"

// Plan decides what a parent does next. It is asked in the transaction that
// started the parent, ended one of its children or resumed it, and again every
// few seconds, so that no lost wake-up can strand a tree. It is therefore a
// pure function of the rows it is given, which several goroutines may ask at
// once: asked twice, it answers the same, and once what it decided has been
// done, it decides nothing more.
type Plan interface {
	Next(parent Operation, children []Operation, why Why) (Decision, error)
}

// Why tells a plan what made the engine ask.
type Why string

// The reasons.
const (
	WhyCreated   Why = "created"   // it has just been created, or its turn in its queue has come
	WhyChild     Why = "child"     // a child ended
	WhyResumed   Why = "resumed"   // dead children are to be resumed, not reported
	WhyReconcile Why = "reconcile" // nothing happened that is known of; there may be something to do all the same
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
	Notes    []Note          // what is to be remembered, in order
}

// Changes says whether the decision asks for anything.
func (d Decision) Changes() bool {
	return d.Phase != "" || d.State != nil || len(d.Create) > 0 || len(d.Resume) > 0 || d.Finish != nil || d.Progress != nil ||
		len(d.Notes) > 0
}
