package ktrdr_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// commit makes one act and, in the same transaction, what its effects ask for.
// It is the model of what every store does around Step.
func (m *model) commit(w *world, op uint8, a ktrdr.Act, number uint8, byHand bool) error {
	eff, err := m.act(w, op, a, number, byHand)
	if err != nil {
		return err
	}
	if eff.Cascade && op == parent && m.hasParent {
		for _, child := range []uint8{first, second} {
			if w.ops[child].open() {
				_, _ = m.act(w, child, ktrdr.Act{Input: ktrdr.Cancel}, 0, byHand)
			}
		}
		m.settle(w)
	}
	switch {
	case eff.AutoResume && m.noResume, eff.Advance:
		m.advance(w, ktrdr.WhyChild)
	case eff.AutoResume:
		_, _ = m.act(w, op, ktrdr.Act{Input: ktrdr.Resume}, 0, false)
	}
	return nil
}

// settle is the sweep for a parent that waits for no child: one that is being
// cancelled ends, another asks its plan again.
func (m *model) settle(w *world) {
	p := &w.ops[parent]
	if !p.open() || w.ops[first].open() || w.ops[second].open() {
		return
	}
	if p.cancel {
		_ = m.commit(w, parent, ktrdr.Act{Input: ktrdr.Finish, Epoch: ktrdr.Epoch(p.epoch), Outcome: ktrdr.Cancelled}, 0, false)
		return
	}
	m.advance(w, ktrdr.WhyChild)
}

// advance asks the parent's plan and does what it decides. The plan wants both
// children completed, side by side or one after the other; resumed, it resumes
// the children that did not complete and adopts the rest.
func (m *model) advance(w *world, why ktrdr.Why) {
	children := []uint8{first, second}
	if why == ktrdr.WhyResumed {
		for _, child := range children {
			if w.ops[child].exists && !w.ops[child].open() {
				_, _ = m.act(w, child, ktrdr.Act{Input: ktrdr.Resume}, 0, true)
			}
		}
	}
	for _, child := range children {
		o := &w.ops[child]
		o.exists = true // the zero State is PENDING
		if m.sequential && o.is() != ktrdr.Completed {
			break
		}
	}
	outcome := ktrdr.Completed
	for _, child := range children {
		o := w.ops[child]
		if o.open() {
			return
		}
		if o.is() != ktrdr.Completed {
			outcome = ktrdr.Failed
		}
	}
	_ = m.commit(w, parent, ktrdr.Act{Input: ktrdr.Finish, Epoch: ktrdr.Epoch(w.ops[parent].epoch), Outcome: outcome}, 0, false)
}

// move is one thing that happens in a world. It is small, so that a trace can
// be told again from the states alone.
type move struct {
	kind    moveKind
	subject uint8 // a worker or an operation
	op      uint8
	input   ktrdr.Input
	outcome ktrdr.Status
	fate    fate
}

type moveKind uint8

const (
	workerClaims moveKind = iota
	workerAsksAgain
	workerCalls
	workerCrashes
	workerStalls
	workerContinues
	messageArrives
	messageIsLost
	userCancels
	userResumes
	sweepLosesWorker
	sweepReleases
	sweepLosesHolder
	sweepSettles
	backendRestarts
)

// fate is what the network makes of a call.
type fate uint8

const (
	told       fate = iota // it arrives and is answered
	untold                 // it arrives, but its worker hears of a failure and will repeat it
	late                   // its worker hears of a failure; it arrives some other time
	duplicated             // it arrives, is answered, and arrives again some other time
)

// helpful says whether the move needs neither a user nor a fault: liveness may
// count on nothing else.
func (v move) helpful() bool {
	switch v.kind {
	case workerCrashes, workerStalls, userCancels, userResumes, backendRestarts:
		return false
	case workerClaims, workerCalls:
		return v.fate == told && v.input != ktrdr.Release && v.input != ktrdr.LoseChild
	}
	return true
}

func (v move) String() string {
	call := strings.TrimSpace(fmt.Sprintf("%s %s", v.input, v.outcome))
	fates := [...]string{"", ", but is told that it failed", ", which is on its way", ", and a copy is on its way"}
	switch v.kind {
	case workerClaims:
		return fmt.Sprintf("worker %d claims operation %d%s", v.subject, v.op, fates[v.fate])
	case workerAsksAgain:
		return fmt.Sprintf("worker %d asks again under its claim key", v.subject)
	case workerCalls:
		return fmt.Sprintf("worker %d calls %s%s", v.subject, call, fates[v.fate])
	case messageArrives:
		return "the late call arrives"
	case messageIsLost:
		return "the late call is lost"
	}
	names := map[moveKind]string{
		workerCrashes: "worker %d crashes", workerStalls: "worker %d stalls", workerContinues: "worker %d continues",
		userCancels: "a user cancels operation %d", userResumes: "a user resumes operation %d",
		sweepLosesWorker: "the sweep fails operation %d, whose worker is silent",
		sweepReleases:    "the sweep requeues operation %d of a dead backend",
		sweepLosesHolder: "the sweep fails operation %d of a dead backend",
		sweepSettles:     "the sweep asks the plan of operation %d", backendRestarts: "backend %d restarts",
	}
	return fmt.Sprintf(names[v.kind], v.subject)
}

// moves calls yield with every move the world allows and the world after it.
func (m *model) moves(w world, yield func(move, world)) {
	for i := range uint8(2) {
		m.workerMoves(w, i, yield)
	}
	if w.net.input != 0 {
		after := w
		after.net = message{}
		yield(move{kind: messageIsLost}, after)
		_ = m.deliver(&after, w.net)
		yield(move{kind: messageArrives}, after)
	}
	for op := range uint8(3) {
		if w.ops[op].exists {
			m.userMoves(w, op, yield)
			m.sweepMoves(w, op, yield)
		}
	}
	if w.left.restarts > 0 {
		yield(move{kind: backendRestarts}, m.restart(w))
	}
}

// workerMoves is what worker i may do, or suffer.
func (m *model) workerMoves(w world, i uint8, yield func(move, world)) {
	self := w.workers[i]
	switch self.mode {
	case idle:
		for _, op := range []uint8{first, second} {
			m.claimMoves(w, i, op, yield)
		}
		return
	case asking:
		after := w
		after.workers[i] = process{}
		if o := w.ops[self.op]; o.epoch == self.epoch && o.is().Live() { // the key's claim is still live
			after.workers[i] = process{mode: working, claim: self.claim}
		}
		yield(move{kind: workerAsksAgain, subject: i}, after)
	case stalled:
		after := w
		after.workers[i].mode = working
		yield(move{kind: workerContinues, subject: i}, after)
	case working:
		m.callMoves(w, i, yield)
		if w.left.stalls > 0 {
			after := w
			after.left.stalls--
			after.workers[i].mode = stalled
			yield(move{kind: workerStalls, subject: i}, after)
		}
	}
	if w.left.crashes > 0 {
		after := w
		after.left.crashes--
		after.workers[i] = process{}
		yield(move{kind: workerCrashes, subject: i}, after)
	}
}

func (m *model) claimMoves(w world, i, op uint8, yield func(move, world)) {
	if !w.ops[op].exists {
		return
	}
	after := w
	if m.commit(&after, op, ktrdr.Act{Input: ktrdr.Claim}, 0, false) != nil {
		return
	}
	o := &after.ops[op]
	o.holder = i
	after.workers[i] = process{mode: working, claim: claim{op: op, epoch: o.epoch, number: o.claims}}
	yield(move{kind: workerClaims, subject: i, op: op}, after)
	if w.left.faults > 0 {
		after.left.faults--
		after.workers[i].mode = asking
		yield(move{kind: workerClaims, subject: i, op: op, fate: untold}, after)
	}
}

// callMoves is every call a worker may make for the claim it holds, with every
// fate the call may have.
func (m *model) callMoves(w world, i uint8, yield func(move, world)) {
	call := func(from world, input ktrdr.Input, outcome ktrdr.Status) {
		msg := message{input: uint8(slices.Index(ktrdr.Inputs, input)) + 1, claim: from.workers[i].claim}
		if input == ktrdr.Finish {
			msg.outcome = uint8(slices.Index(ktrdr.Statuses, outcome))
		}
		v := move{kind: workerCalls, subject: i, input: input, outcome: outcome}

		heard := from
		refused := m.deliver(&heard, msg) != nil
		after := heard
		if refused || input == ktrdr.Finish || input == ktrdr.Release || input == ktrdr.LoseChild {
			after.workers[i] = process{} // a lost claim is dropped, a finished one forgotten
		}
		yield(v, after)
		if from.left.faults == 0 {
			return
		}
		heard.left.faults--
		v.fate = untold
		yield(v, heard)
		if from.net.input != 0 {
			return
		}
		after.left.faults--
		after.net = msg
		v.fate = duplicated
		yield(v, after)
		from.left.faults--
		from.net = msg
		v.fate = late
		yield(v, from)
	}
	call(w, ktrdr.Finish, ktrdr.Completed)
	call(w, ktrdr.Finish, ktrdr.Failed)
	call(w, ktrdr.Report, "")
	if w.left.steps > 0 {
		next := w
		next.left.steps--
		next.workers[i].step++
		call(next, ktrdr.Save, "")
	}
	if w.left.releases > 0 {
		next := w
		next.left.releases--
		call(next, ktrdr.Release, "")
	}
	if w.left.children > 0 && m.local[i] {
		next := w
		next.left.children--
		call(next, ktrdr.LoseChild, "")
	}
}

// deliver puts a worker's call to the store. A finish that repeats the one
// that ended the operation is answered as the first was.
func (m *model) deliver(w *world, msg message) error {
	err := m.commit(w, msg.op, ktrdr.Act{
		Input: ktrdr.Inputs[msg.input-1], Epoch: ktrdr.Epoch(msg.epoch),
		Outcome: ktrdr.Statuses[msg.outcome], Step: int64(msg.step),
	}, msg.number, false)
	if err != nil && ktrdr.Inputs[msg.input-1] == ktrdr.Finish && w.ops[msg.op].finished == msg.number {
		return nil
	}
	return err
}

func (m *model) userMoves(w world, op uint8, yield func(move, world)) {
	if w.left.cancels > 0 {
		after := w
		after.left.cancels--
		if m.commit(&after, op, ktrdr.Act{Input: ktrdr.Cancel}, 0, true) == nil {
			yield(move{kind: userCancels, subject: op}, after)
		}
	}
	if w.left.resumes > 0 {
		after := w
		after.left.resumes--
		if m.commit(&after, op, ktrdr.Act{Input: ktrdr.Resume}, 0, true) != nil {
			return
		}
		if op == parent {
			_, _ = m.act(&after, parent, ktrdr.Act{Input: ktrdr.Claim}, 0, true)
			m.advance(&after, ktrdr.WhyResumed)
		}
		yield(move{kind: userResumes, subject: op}, after)
	}
}

// sweepMoves is what a backend does about an operation whose worker is silent:
// crashed, stalled, or never told that it has it.
func (m *model) sweepMoves(w world, op uint8, yield func(move, world)) {
	o := w.ops[op]
	if m.hasParent && op == parent {
		after := w
		m.settle(&after)
		if after != w {
			yield(move{kind: sweepSettles, subject: op}, after)
		}
		return
	}
	keeper := w.workers[o.holder]
	if keeper.mode == working && keeper.op == op && keeper.number == o.claims {
		return
	}
	sweep := func(kind moveKind, input ktrdr.Input) {
		after := w
		if m.commit(&after, op, ktrdr.Act{Input: input, Epoch: ktrdr.Epoch(o.epoch)}, 0, false) == nil {
			yield(move{kind: kind, subject: op}, after)
		}
	}
	switch {
	case !m.local[o.holder]:
		sweep(sweepLosesWorker, ktrdr.LoseWorker)
	case m.failLocal:
		sweep(sweepLosesHolder, ktrdr.LoseHolder)
	default:
		sweep(sweepReleases, ktrdr.Requeue)
	}
}

// restart is a backend that dies and returns. Its own workers die with it;
// outside workers' operations are in question; under RESTART_POLICY=fail the
// parent, which lives in the backend, fails.
func (m *model) restart(w world) world {
	w.left.restarts--
	for i, local := range m.local {
		if local {
			w.workers[i] = process{}
		}
	}
	for op, o := range w.ops {
		switch a := (ktrdr.Act{Epoch: ktrdr.Epoch(o.epoch)}); {
		case !o.exists:
		case op == parent:
			if a.Input = ktrdr.LoseHolder; m.failLocal {
				_ = m.commit(&w, parent, a, 0, false)
			}
		case !m.local[o.holder]:
			a.Input = ktrdr.Restart
			_ = m.commit(&w, uint8(op), a, 0, false)
		}
	}
	return w
}
