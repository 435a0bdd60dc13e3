package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/ktrdr/ktrdr"
)

// tree is the plan of these cases: its parent's spec says what it does. It
// completes when every child has, fails when one did not, and notes in its
// state how many have ended.
type tree struct {
	gate *atomic.Bool
}

// treeSpec is the spec of a tree's parent.
type treeSpec struct {
	Children int       `json:"children"`
	Parallel bool      `json:"parallel,omitempty"` // all at once, not one after the other
	Depth    int       `json:"depth,omitempty"`    // levels of further parents below
	Local    bool      `json:"local,omitempty"`    // children run inside a backend
	Design   bool      `json:"design,omitempty"`   // children are of a type that its plan restarts
	Gated    bool      `json:"gated,omitempty"`    // after its creation it waits for the gate
	Trouble  string    `json:"trouble,omitempty"`  // "error" or "panic"
	When     ktrdr.Why `json:"when,omitempty"`     // asked for this reason it makes trouble
	Named    bool      `json:"named,omitempty"`    // children's ids follow from their parent's
	Noted    string    `json:"noted,omitempty"`    // the key under which its beginning and its end are noted
	Saying   string    `json:"saying,omitempty"`   // the data of these notes

	Delay time.Duration `json:"delay,omitempty"` // before children are claimed

	// What it completes with: see ktrdr.Finished.
	Rung   string          `json:"rung,omitempty"`
	Score  *float64        `json:"score,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
}

// treeState is the state of a tree's parent.
type treeState struct {
	Ended int `json:"ended"`
}

var errTrouble = errors.New("the plan wants trouble")

// Next implements ktrdr.Plan.
func (p *tree) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	var spec treeSpec
	if err := json.Unmarshal(parent.Spec, &spec); err != nil {
		return ktrdr.Decision{}, err
	}
	switch {
	case spec.Trouble == "error" && why == spec.When:
		return ktrdr.Decision{}, errTrouble
	case spec.Trouble == "panic" && why == spec.When:
		panic(errTrouble)
	case spec.Gated && why != ktrdr.WhyCreated && !p.gate.Load():
		return ktrdr.Decision{}, nil
	}

	var d ktrdr.Decision
	open, ended := 0, 0
	var bad *ktrdr.Operation
	for i, child := range children {
		switch {
		case !child.Status.Terminal():
			open++
		case child.Status == ktrdr.Completed:
			ended++
		case why == ktrdr.WhyResumed:
			d.Resume = append(d.Resume, child.ID)
			open++
		default:
			ended++
			bad = &children[i]
		}
	}
	if state, _ := json.Marshal(treeState{ended}); string(state) != string(parent.State) {
		d.State = state
	}
	switch {
	case open > 0:
	case bad != nil:
		d.Finish = &ktrdr.Finished{Outcome: ktrdr.Failed, ErrorMessage: fmt.Sprintf("child %d ended %s", bad.Ordinal, bad.Status)}
	case len(children) == spec.Children:
		d.Finish = &ktrdr.Finished{Outcome: ktrdr.Completed, Result: spec.Result, Rung: spec.Rung, Score: spec.Score}
		if spec.Result == nil {
			d.Finish.Result = json.RawMessage(fmt.Sprintf(`{"children":%d}`, ended))
		}
	default:
		d.Create = spec.next(parent, len(children))
		d.Phase = fmt.Sprintf("CHILD_%d", len(children)+1)
	}
	if spec.Noted != "" {
		d.Notes = spec.notes(parent, d.Finish != nil)
	}
	return d, nil
}

// notes is what the plan notes: that its parent began, whenever it is asked,
// and that it ends.
func (spec treeSpec) notes(parent ktrdr.Operation, ends bool) []ktrdr.Note {
	n := ktrdr.Note{Kind: "began", Key: spec.Noted, Data: json.RawMessage(cmp.Or(spec.Saying, "{}"))}
	if q := parent.Queue; q != nil {
		n.Run, n.Generation, n.Index = q.Run, q.Generation, q.Index
	}
	all := []ktrdr.Note{n}
	if ends {
		n.Kind = "ended"
		all = append(all, n)
	}
	return all
}

// next is the children that come after the first n.
func (spec treeSpec) next(parent ktrdr.Operation, made int) []ktrdr.NewOperation {
	last := made + 1
	if spec.Parallel {
		last = spec.Children
	}
	var all []ktrdr.NewOperation
	for i := made + 1; i <= last; i++ {
		child := ktrdr.NewOperation{
			Type: ktrdr.Dummy, Ordinal: i, Priority: parent.Priority, BackendLocal: spec.Local, Delay: spec.Delay,
			Spec: json.RawMessage(fmt.Sprintf(`{"child":%d}`, i)),
		}
		if spec.Design {
			child.Type = ktrdr.AgentDesign
		}
		if spec.Depth > 0 {
			below := spec
			below.Depth--
			child.Type, child.HasPlan = ktrdr.AgentResearch, true
			child.Spec, _ = json.Marshal(below)
		}
		if spec.Named {
			child.ID = ktrdr.OperationID(fmt.Sprintf("%s_%03d", parent.ID, i))
		}
		all = append(all, child)
	}
	return all
}

// plant creates a tree.
func (l *lab) plant(spec treeSpec) ktrdr.Operation {
	l.Helper()
	return l.create(parentOf(spec))
}

func parentOf(spec treeSpec) ktrdr.NewOperation {
	text, _ := json.Marshal(spec)
	return ktrdr.NewOperation{Type: ktrdr.AgentResearch, BackendLocal: true, HasPlan: true, Spec: text}
}

// children reads a parent's children in their order.
func (l *lab) children(parent ktrdr.OperationID) []ktrdr.Operation {
	l.Helper()
	page, err := l.List(l.ctx(), ktrdr.OperationQuery{Parent: parent, Limit: 1000})
	l.must(err)
	return byOrdinal(page.Operations)
}

// ended reads how many ends of children were reported to a parent's plan.
func (l *lab) ended(parent ktrdr.OperationID) int {
	l.Helper()
	var state treeState
	l.must(json.Unmarshal(l.op(parent).State, &state))
	return state.Ended
}
