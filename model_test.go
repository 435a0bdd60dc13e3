package ktrdr_test

import (
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// The model: a small world around the real Step, made of everything that can
// go wrong at once. Two operations, alone or under a parent with a plan; two
// workers that crash, stall and come back as zombies; a network that delivers
// late, twice or without telling; users who cancel and resume; a backend that
// dies and sweeps. Beside what Step sees, the world keeps ghosts: what an
// observer knows who counts claims and losses himself. The rules compare both.

// The operations of a world. The parent is operation 0; without one, 1 and 2
// stand alone.
const (
	parent = 0
	first  = 1
	second = 2
)

// operation is an operation's ktrdr.State in bytes, and its ghosts.
type operation struct {
	exists                           bool
	status                           uint8 // index into ktrdr.Statuses
	epoch, attempts, losses, maxStep uint8
	cancel, died                     bool

	claims   uint8 // accepted claims; the newest has this number
	holder   uint8 // the worker that made it
	finished uint8 // the claim whose finish was accepted
	acked    bool  // a cancel was acknowledged, and it was not resumed since
	silent   uint8 // losses in a row without a new step
	furthest uint8 // the furthest step accepted
}

func (o operation) state() ktrdr.StepState {
	return ktrdr.StepState{
		Status: ktrdr.Statuses[o.status], Epoch: ktrdr.Epoch(o.epoch), Attempts: int(o.attempts),
		CancelRequested: o.cancel, Losses: int(o.losses), MaxStep: int64(o.maxStep), BackendDied: o.died,
	}
}

func (o *operation) set(s ktrdr.StepState) {
	o.status = uint8(slices.Index(ktrdr.Statuses, s.Status))
	o.epoch, o.attempts, o.losses, o.maxStep = uint8(s.Epoch), uint8(s.Attempts), uint8(s.Losses), uint8(s.MaxStep)
	o.cancel, o.died = s.CancelRequested, s.BackendDied
}

func (o operation) is() ktrdr.Status { return ktrdr.Statuses[o.status] }
func (o operation) open() bool       { return o.exists && !o.is().Terminal() }

// claim is what a worker remembers, or a message says, of a claim. The number
// is a ghost: Step sees only the epoch.
type claim struct {
	op, epoch, number, step uint8
}

// workerMode is what a worker is doing.
type workerMode uint8

const (
	idle    workerMode = iota
	asking             // it was given a claim, but the answer was lost
	working            // it holds a claim and speaks for it
	stalled            // it holds a claim and is silent: later it continues, perhaps as a zombie
)

type process struct {
	mode workerMode
	claim
}

// message is a call that has left its worker and may arrive at any time.
type message struct {
	input uint8 // index into ktrdr.Inputs, plus one; 0 is no message
	claim
	outcome uint8 // index into ktrdr.Statuses
}

// budget bounds what makes a world infinite: each is how often it may still
// happen.
type budget struct {
	crashes, stalls, cancels, resumes, restarts, releases, faults, steps uint8
	// processes that a worker inside the backend started, and that die
	children uint8
}

// world is one state of the model. It is comparable: two worlds are the same
// state exactly when they are equal.
type world struct {
	ops     [3]operation
	workers [2]process
	net     message
	left    budget
}

// model is a world's laws: its shape, its policy, and the Step under test.
type model struct {
	step       func(ktrdr.StepState, ktrdr.Act) (ktrdr.StepState, ktrdr.Effects, error)
	start      budget
	hasParent  bool
	sequential bool    // the plan runs its children one after the other
	noResume   bool    // AUTO_RESUME off
	failLocal  bool    // RESTART_POLICY=fail
	local      [2]bool // the worker lives inside the backend
	violated   string  // the first rule broken by the move being made
}

func (m *model) violation(format string, args ...any) {
	if m.violated == "" {
		m.violated = fmt.Sprintf(format, args...)
	}
}

// initial is the world after its creating transaction.
func (m *model) initial() world {
	w := world{left: m.start}
	if !m.hasParent {
		w.ops[first].exists, w.ops[second].exists = true, true
		return w
	}
	w.ops[parent].exists = true
	_, _ = m.act(&w, parent, ktrdr.Act{Input: ktrdr.Claim}, 0, true)
	m.advance(&w, ktrdr.WhyCreated)
	return w
}

// act puts one act to Step for operation op and holds the answer to the rules.
// number is the ghost of the claim that a worker's act comes from; byHand says
// that a user asked for it.
func (m *model) act(w *world, op uint8, a ktrdr.Act, number uint8, byHand bool) (ktrdr.Effects, error) {
	p, o := &w.ops[parent], &w.ops[op]
	if m.hasParent && op != parent {
		a.ParentClosed = p.cancel || p.is() == ktrdr.Cancelled
		a.Child = p.open() && !p.cancel
	}
	before := o.state()
	after, eff, err := m.step(before, a)
	if err != nil {
		if after != before {
			m.violation("a refused %s changed operation %d from %+v to %+v", a.Input, op, before, after)
		}
		return eff, err
	}
	o.set(after)
	m.holdTransition(op, before, after, a, byHand)
	m.holdEffects(w, op, a, eff, number)
	m.haunt(w, op, a, byHand)
	if a.Input == ktrdr.Resume && op != parent && m.hasParent && !p.open() && !byHand {
		m.violation("operation %d was resumed by itself under a %s parent", op, p.is())
	}
	if op == parent && after.Status.Terminal() && a.Input != ktrdr.LoseHolder && (w.ops[first].open() || w.ops[second].open()) {
		m.violation("the parent became %s while a child was open", after.Status)
	}
	return eff, nil
}

// holdTransition checks what one accepted act may change.
func (m *model) holdTransition(op uint8, before, after ktrdr.StepState, a ktrdr.Act, byHand bool) {
	if before.Status != after.Status && !slices.Contains(ktrdr.Transitions[before.Status], after.Status) {
		m.violation("operation %d went from %s to %s by %s", op, before.Status, after.Status, a.Input)
	}
	if before.Status.Terminal() && after.Status != before.Status && a.Input != ktrdr.Resume {
		m.violation("operation %d left %s by %s", op, before.Status, a.Input)
	}
	if a.Input == ktrdr.Claim && after.Epoch <= before.Epoch {
		m.violation("a claim of operation %d kept epoch %d", op, before.Epoch)
	}
	if a.Input != ktrdr.Claim && after.Epoch != before.Epoch {
		m.violation("%s moved the epoch of operation %d from %d to %d", a.Input, op, before.Epoch, after.Epoch)
	}
	if a.Input == ktrdr.Claim && a.ParentClosed {
		m.violation("operation %d started after its parent was cancelled", op)
	}
	if a.Input == ktrdr.Resume && before.CancelRequested && !byHand {
		m.violation("operation %d was resumed by itself despite its cancel", op)
	}
}

// holdEffects checks who was heard, and what was asked for because of it. A
// worker may write for the claim it remembers at any time; so that only the
// newest is ever heard also means that at most one claim is live.
func (m *model) holdEffects(w *world, op uint8, a ktrdr.Act, eff ktrdr.Effects, number uint8) {
	o := w.ops[op]
	switch a.Input {
	case ktrdr.Report, ktrdr.Save, ktrdr.Finish, ktrdr.Release, ktrdr.LoseChild:
		if number != 0 && number != o.claims {
			m.violation("zombie write: %s of operation %d was accepted from claim %d while claim %d (worker %d) is the newest", a.Input, op, number,
				o.claims, o.holder)
		}
		if a.Input == ktrdr.Finish && o.finished == o.claims {
			m.violation("operation %d was finished twice in claim %d", op, o.claims)
		}
	}
	if a.Input == ktrdr.LoseWorker || a.Input == ktrdr.LoseChild {
		poison := !o.acked && o.silent+1 >= ktrdr.PoisonLosses
		if eff.Poison != poison || poison && eff.AutoResume {
			m.violation("operation %d: loss %d in a row gave %+v", op, o.silent+1, eff)
		}
	}
	if eff.Advance && (!m.hasParent || op == parent || w.ops[parent].is().Terminal()) {
		m.violation("%s of operation %d advances a parent that has ended", a.Input, op)
	}
}

// haunt keeps the ghosts of an accepted act.
func (m *model) haunt(w *world, op uint8, a ktrdr.Act, byHand bool) {
	o := &w.ops[op]
	switch a.Input {
	case ktrdr.Claim:
		o.claims++
	case ktrdr.Report, ktrdr.Save:
		if uint8(a.Step) > o.furthest {
			o.furthest, o.silent = uint8(a.Step), 0
		}
	case ktrdr.Finish:
		o.finished = o.claims
	case ktrdr.LoseWorker, ktrdr.LoseChild:
		o.silent++
	case ktrdr.Cancel:
		o.acked = true
	case ktrdr.Resume:
		if byHand {
			o.acked = false
		}
	}
}

// holdWorld checks what must be true between moves.
func (m *model) holdWorld(w *world) {
	for i, o := range w.ops {
		if !o.exists {
			continue
		}
		if o.attempts != o.claims || o.epoch != o.claims {
			m.violation("operation %d was claimed %d times but has attempts %d and epoch %d", i, o.claims, o.attempts, o.epoch)
		}
		if o.acked && o.is() != ktrdr.Cancelled && (!o.is().Live() || !o.cancel) {
			m.violation("operation %d is %s although its cancel was acknowledged", i, o.is())
		}
	}
}
