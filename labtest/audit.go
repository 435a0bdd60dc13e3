package labtest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

// Audit checks, from outside, everything that must hold after any run: every
// acknowledged operation exists; every history is a path of the state machine
// with epochs that only grow; every result is the one an undisturbed run gives;
// no claim was worked on by two, and none left a step out; and the store and
// the blobs agree.
func (l *Lab) Audit() {
	l.t.Helper()
	for _, s := range l.acked {
		l.auditTree(s.id, &s.spec)
	}
	l.auditSteps()
	// What a backend says of itself is up to a second old.
	Eventually(l.t, 10*time.Second, "the backend to know that nothing waits for a worker", func() bool {
		h, err := l.Health()
		return err == nil && h.Unschedulable == 0
	})
	if out, code := l.Command("doctor", "--deep"); code != 0 {
		l.t.Errorf("doctor found problems (exit %d):\n%s", code, out)
	}
}

func (l *Lab) auditTree(id ktrdr.OperationID, spec *dummy.Spec) {
	l.t.Helper()
	status, out, err := call[ktrdr.Operation](l, http.MethodGet, "/api/v1/operations/"+string(id), nil)
	if err != nil || status != http.StatusOK {
		l.t.Errorf("acknowledged %s is lost: %d %+v %v", id, status, out.Error, err)
		return
	}
	op := out.Data
	l.auditPath(op)
	if op.Status == ktrdr.Completed {
		var got struct {
			Hash string `json:"hash"`
		}
		if err := json.Unmarshal(op.Result, &got); err != nil {
			l.t.Errorf("%s: result %s: %v", id, op.Result, err)
		}
		if want := dummy.Expected(*spec); got.Hash != want {
			l.t.Errorf("%s: result hash %s, want %s as undisturbed", id, got.Hash, want)
		}
	}
	if len(spec.Children) == 0 {
		return
	}
	seen := map[int]ktrdr.OperationID{}
	for _, child := range l.Children(id) {
		if other, twice := seen[child.Ordinal]; twice {
			l.t.Errorf("%s has two children in place %d: %s and %s", id, child.Ordinal, other, child.ID)
			continue
		}
		seen[child.Ordinal] = child.ID
		if op.Status.Terminal() && !child.Status.Terminal() {
			l.t.Errorf("%s is %s while its child %s is %s", id, op.Status, child.ID, child.Status)
		}
		if child.Ordinal >= 0 && child.Ordinal < len(spec.Children) {
			l.auditTree(child.ID, &spec.Children[child.Ordinal])
		}
	}
	if op.Status == ktrdr.Completed && len(seen) != len(spec.Children) {
		l.t.Errorf("%s completed with %d of %d children", id, len(seen), len(spec.Children))
	}
}

// Transition is what an event's data says of a status change.
type Transition struct {
	From ktrdr.Status `json:"from"`
	To   ktrdr.Status `json:"to"`
}

// auditPath replays an operation's events. On PostgreSQL an event can be read
// only when every transaction that was open at its commit has ended, so the
// last ones may come a little after the row shows what they tell.
func (l *Lab) auditPath(op ktrdr.Operation) {
	l.t.Helper()
	var p path
	for deadline := time.Now().Add(30 * time.Second); ; pace() {
		p = replay(l.Events(op.ID))
		if p.at == op.Status && p.claims == op.Attempts || time.Now().After(deadline) {
			break
		}
	}
	for _, wrong := range p.wrong {
		l.t.Errorf("%s: %s", op.ID, wrong)
	}
	if p.at != op.Status {
		l.t.Errorf("%s is %s but its events end at %s", op.ID, op.Status, p.at)
	}
	if p.claims != op.Attempts || int64(p.claims) != int64(op.Epoch) {
		l.t.Errorf("%s was claimed %d times by its events, has %d attempts and epoch %d", op.ID, p.claims, op.Attempts, op.Epoch)
	}
}

// path is where an operation's events lead.
type path struct {
	at     ktrdr.Status
	epoch  ktrdr.Epoch
	claims int
	wrong  []string
}

func replay(events []ktrdr.Event) path {
	p := path{at: ktrdr.Pending}
	for i, ev := range events {
		if ev.Kind == ktrdr.EventWriteRefused {
			continue // it names an old epoch
		}
		if ev.Epoch < p.epoch {
			p.wrong = append(p.wrong, fmt.Sprintf("event %d (%s) goes back from epoch %d to %d", i, ev.Kind, p.epoch, ev.Epoch))
		}
		p.epoch = max(p.epoch, ev.Epoch)
		var tr Transition
		_ = json.Unmarshal(ev.Data, &tr) // other events have other data
		if !tr.From.Known() || !tr.To.Known() || tr.From == tr.To {
			continue
		}
		if tr.From != p.at || !slices.Contains(ktrdr.Transitions[tr.From], tr.To) {
			p.wrong = append(p.wrong, fmt.Sprintf("event %d (%s) moves %s to %s, but it was %s", i, ev.Kind, tr.From, tr.To, p.at))
		}
		if ev.Kind == ktrdr.EventClaimed {
			p.claims++
		}
		p.at = tr.To
	}
	return p
}

// Events returns the whole history of an operation, page by page.
func (l *Lab) Events(id ktrdr.OperationID) []ktrdr.Event {
	l.t.Helper()
	var all []ktrdr.Event
	for after := ""; ; {
		status, out, err := call[[]ktrdr.Event](l, http.MethodGet, "/api/v1/operations/"+string(id)+"/events?after="+after, nil, "Accept",
			"application/json")
		if err != nil || status != http.StatusOK {
			l.t.Fatalf("events of %s: %d %+v %v", id, status, out.Error, err)
		}
		if len(out.Data) == 0 {
			return all
		}
		all, after = append(all, out.Data...), out.Next
	}
}

// RefusedWrite waits for the event that says that a checkpoint or a result of
// an old epoch was refused.
func (l *Lab) RefusedWrite(id ktrdr.OperationID, epoch ktrdr.Epoch) {
	l.t.Helper()
	Eventually(l.t, 30*time.Second, fmt.Sprintf("a refused write of epoch %d of %s", epoch, id), func() bool {
		return slices.ContainsFunc(l.Events(id), func(ev ktrdr.Event) bool {
			var refused struct {
				Input ktrdr.Input `json:"input"`
				Given ktrdr.Epoch `json:"given_epoch"`
			}
			return ev.Kind == ktrdr.EventWriteRefused && json.Unmarshal(ev.Data, &refused) == nil && refused.Given == epoch &&
				(refused.Input == ktrdr.Save || refused.Input == ktrdr.Finish)
		})
	})
}
