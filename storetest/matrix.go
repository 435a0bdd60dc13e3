package storetest

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// Matrix puts operations into every situation that Step can tell apart, for
// every input (status, epoch match, cancel flag, parent, losses), gives the input through the store's own methods
// and requires Step's answer: the state, the refusal, the effects.
func Matrix(t *testing.T, open func(t *testing.T, types ktrdr.Types) ktrdr.Store) {
	covered := map[ktrdr.Input]bool{}
	for _, in := range inputs {
		covered[in.input] = true
		t.Run(in.title, func(t *testing.T) {
			t.Parallel()
			l := &lab{T: t}
			l.Store = open(t, Types(pair{}))
			m := &matrix{lab: l, entry: in}
			m.build()
			m.check()
		})
	}
	for _, input := range ktrdr.Inputs {
		if !covered[input] {
			t.Errorf("no entry gives the input %s", input)
		}
	}
}

// pair is a plan with two children: the one a situation is about, and one that
// no worker claims and that keeps the parent open. Its state counts the ends.
type pair struct{}

// Next implements ktrdr.Plan.
func (pair) Next(parent ktrdr.Operation, children []ktrdr.Operation, why ktrdr.Why) (ktrdr.Decision, error) {
	if why == ktrdr.WhyReconcile {
		return ktrdr.Decision{}, nil // no end
	}
	if len(children) == 0 {
		return ktrdr.Decision{State: json.RawMessage(`{"ended":0}`), Create: []ktrdr.NewOperation{
			{Type: ktrdr.Dummy, Ordinal: 1, Priority: parent.Priority},
			{Type: ktrdr.DataLoad, Ordinal: 2},
		}}, nil
	}
	var state treeState
	if err := json.Unmarshal(parent.State, &state); err != nil {
		return ktrdr.Decision{}, err
	}
	state.Ended++
	text, err := json.Marshal(state)
	return ktrdr.Decision{State: text}, err
}

// family is whose an operation is.
type family string

const (
	alone    family = "alone"
	ofOpen   family = "child of an open parent"
	ofClosed family = "child of a cancelled parent" // or of one that is being cancelled
)

// situation is one operation and what it is to be.
type situation struct {
	status  ktrdr.Status
	flagged bool
	family  family
	losses  int
	match   ktrdr.Epoch // the given epoch less the live one

	op     ktrdr.Operation // as it was before the input
	parent ktrdr.Operation
}

type matrix struct {
	*lab
	entry
	all []*situation
}

// The order of building: each group is claimed before those below it, because
// its priority is higher.
const (
	staysInQueue = iota
	isClaimed
	isClaimedFirst // and put in question by a backend's start
)

func (c *situation) group() int {
	switch {
	case c.status == ktrdr.Reconciling:
		return isClaimedFirst
	case c.status == ktrdr.Pending, c.status == ktrdr.Cancelled && !c.flagged:
		return staysInQueue
	}
	return isClaimed
}

// possible says whether a store can get there. A cancel flag lives on only in
// what runs and in what ended CANCELLED because of it; a parent's cancel leaves
// no child waiting, and none running without the flag.
func (c *situation) possible() bool {
	switch {
	case c.flagged:
		return c.status.Live() || c.status == ktrdr.Cancelled
	case c.family == ofClosed:
		return c.status.Terminal()
	}
	return true
}

func (m *matrix) situations() {
	for _, status := range ktrdr.Statuses {
		for _, flagged := range []bool{false, true} {
			for _, family := range []family{alone, ofOpen, ofClosed} {
				for _, losses := range []int{0, ktrdr.PoisonLosses - 1} {
					c := &situation{status: status, flagged: flagged, family: family, losses: losses}
					if c.possible() && !(m.inside && status == ktrdr.Reconciling) {
						m.all = append(m.all, c)
					}
				}
			}
		}
	}
	slices.SortStableFunc(m.all, func(a, b *situation) int { return cmp.Compare(a.group(), b.group()) })
}

// build makes every situation. Operations are made in the order of their
// priority, so that while one is being made it is the one that is claimed, and
// nothing else runs when a sweep takes its worker away.
func (m *matrix) build() {
	m.situations()
	m.start("b", "i0", keep)
	for i, c := range m.all {
		m.begin(c, i)
	}
	slices.Reverse(m.all) // from the highest priority down
	for _, c := range m.all {
		if c.group() == isClaimedFirst {
			m.end(c, m.take(c, ""))
		}
	}
	m.start("b", "i1", keep)
	var holder ktrdr.Incarnation
	if m.inside {
		holder = "i1"
	}
	for _, c := range m.all {
		switch c.group() {
		case isClaimed:
			m.end(c, m.take(c, holder))
		case staysInQueue:
			if c.status == ktrdr.Cancelled {
				m.stop(c)
			}
		}
		c.op = m.is(c.op.ID, c.status)
		if c.op.CancelRequested != c.flagged || c.op.Losses != c.losses || c.op.Epoch == 0 {
			m.Fatalf("%s is not what was to be built: %+v", c.op.ID, c.op)
		}
		if c.family != alone {
			c.parent = m.op(c.op.Parent)
		}
	}
}

// begin makes a PENDING operation that was claimed before, with a checkpoint
// and that number of losses.
func (m *matrix) begin(c *situation, priority int) {
	n := ktrdr.NewOperation{Priority: priority}
	if c.family != alone {
		n.Type, n.HasPlan = ktrdr.AgentResearch, true
		top := m.create(n)
		c.op = m.children(top.ID)[0]
	} else {
		c.op = m.create(n)
	}
	task := m.take(c, "")
	m.save(task, 1, 0)
	m.must(m.Release(m.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
	task = m.take(c, "") // so that there is an older epoch
	for range c.losses {
		m.lose(task.Operation)
		if c.family == alone { // a child is resumed by the sweep
			_, err := m.Resume(m.ctx(), task.Operation)
			m.must(err)
		}
		task = m.take(c, "")
	}
	m.must(m.Release(m.ctx(), ktrdr.Released{Operation: task.Operation, Epoch: task.Epoch}))
}

// take claims the operation, which must be the next in the queue.
func (m *matrix) take(c *situation, holder ktrdr.Incarnation) ktrdr.Task {
	m.Helper()
	task, err := m.Claim(m.ctx(), ktrdr.ClaimRequest{Worker: "w", Key: m.name("key"), Types: []ktrdr.Type{ktrdr.Dummy}, Free: 1}, holder)
	m.must(err)
	if task == nil || task.Operation != c.op.ID {
		m.Fatalf("claimed %+v, want %s", task, c.op.ID)
	}
	return *task
}

// end flags a claimed operation if it is to be and brings it where it is to be.
func (m *matrix) end(c *situation, task ktrdr.Task) {
	if c.flagged {
		m.stop(c)
	}
	if c.status.Terminal() {
		m.finish(task, c.status)
	}
	if c.family == ofClosed && !c.flagged {
		m.stop(c)
	}
}

// stop cancels the operation, or the parent it is to lose.
func (m *matrix) stop(c *situation) {
	if c.family == ofClosed {
		m.cancel(c.op.Parent)
	} else {
		m.cancel(c.op.ID)
	}
}

// check gives the input and compares. Where it speaks for an epoch, the wrong
// ones come first: they leave the operation as it was for the right one.
func (m *matrix) check() {
	if m.giveAll != nil {
		m.giveAll(m)
	}
	matches := []ktrdr.Epoch{0}
	if m.give != nil && m.input != ktrdr.Cancel && m.input != ktrdr.Resume {
		matches = []ktrdr.Epoch{-1, 1, 0}
	}
	given, accepted := 0, 0
	for _, c := range m.all {
		for _, c.match = range matches {
			var err error
			if m.give != nil {
				err = m.give(m, c)
			}
			given++
			if m.compare(c, err) {
				accepted++
			}
		}
	}
	m.Logf("given in %d situations, accepted in %d", given, accepted)
	if never := m.input == ktrdr.Finish && !m.outcome.Terminal(); (accepted == 0) != never || accepted == given {
		m.Errorf("the input was accepted in %d of %d situations", accepted, given)
	}
}

// compare requires Step's answer and says whether Step accepts.
func (m *matrix) compare(c *situation, got error) bool {
	act := ktrdr.Act{
		Input: m.input, Epoch: c.epoch(), Outcome: m.outcome, Step: m.step, Child: c.family == ofOpen,
		ParentClosed: c.family == ofClosed,
	}
	before := c.op.Lifecycle()
	want, eff, refused := ktrdr.Step(before, act)
	if eff.AutoResume {
		want, _, _ = ktrdr.Step(want, ktrdr.Act{Input: ktrdr.Resume, Child: true})
	}
	what := func(format string, args ...any) {
		m.Helper()
		m.Errorf("%s (epoch %+d, %s, %+v): "+format, append([]any{m.input, c.match, c.family, before}, args...)...)
	}

	now := m.op(c.op.ID)
	if now.Lifecycle() != want {
		what("got %+v, want %+v", now.Lifecycle(), want)
	}
	if now.CompletedAt.IsZero() == now.Status.Terminal() {
		what("%s completed at %v", now.Status, now.CompletedAt)
	}
	if poison := now.Error != nil && now.Error.Code == ktrdr.CodePoison; poison != eff.Poison {
		what("failure %+v, want poison %v", now.Error, eff.Poison)
	}
	if c.family != alone {
		m.compareParent(c, now, eff, what)
	}
	if m.give != nil {
		m.compareRefusal(c, got, refused, what)
	}
	return refused == nil
}

// compareParent requires that an open parent was told exactly when Step says
// so, and that one being cancelled ends with its last child.
func (m *matrix) compareParent(c *situation, now ktrdr.Operation, eff ktrdr.Effects, what func(string, ...any)) {
	var before treeState
	m.must(json.Unmarshal(c.parent.State, &before))
	told := m.ended(c.parent.ID) - before.Ended
	if (told == 1) != eff.Advance || told > 1 {
		what("the parent was told %d times, want %v", told, eff.Advance)
	}
	want := c.parent.Lifecycle()
	if c.family == ofClosed && now.Status.Terminal() {
		want.Status = ktrdr.Cancelled
	}
	if p := m.op(c.parent.ID); p.Lifecycle() != want {
		what("the parent is %+v, want %+v", p.Lifecycle(), want)
	}
}

// compareRefusal requires Step's error. A finish that repeats the one that
// ended the operation is answered as the first was, and another one is told
// apart from it: that is the store's own promise, beyond Step's. After a cancel
// every finish is the same.
func (m *matrix) compareRefusal(c *situation, got, want error, what func(string, ...any)) {
	repeated := m.input == ktrdr.Finish && m.outcome.Terminal() && c.match == 0 && c.status.Terminal() && c.group() == isClaimed
	switch {
	case repeated && (c.flagged || c.status == m.outcome):
		want = nil
	case repeated:
		want = &ktrdr.Error{Code: ktrdr.CodeKeyReused}
	}
	if ktrdr.CodeOf(got) != ktrdr.CodeOf(want) {
		what("got the error %v, want %v", got, want)
		return
	}
	te, ok := errors.AsType[*ktrdr.TransitionError](got)
	wanted, both := errors.AsType[*ktrdr.TransitionError](want)
	if !ok || !both {
		return
	}
	expected := *wanted
	expected.ID = c.op.ID
	if m.input == ktrdr.Cancel || m.input == ktrdr.Resume {
		expected.Given = te.Given // these speak for no epoch
	}
	if *te != expected {
		what("got the refusal %+v, want %+v", *te, expected)
	}
}
