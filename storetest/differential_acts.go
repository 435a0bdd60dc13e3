package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
)

// acts is what may happen in a random life, as often as it is listed. The
// first changes nothing: a life that went wrong is shrunk towards it.
var acts = slices.Concat(
	[]func(*twins){(*twins).look},
	slices.Repeat([]func(*twins){(*twins).claim}, 6),
	slices.Repeat([]func(*twins){(*twins).finish}, 6),
	slices.Repeat([]func(*twins){(*twins).create}, 5),
	slices.Repeat([]func(*twins){(*twins).checkpoint, (*twins).report, (*twins).resume, (*twins).start, (*twins).skip}, 3),
	slices.Repeat([]func(*twins){(*twins).stand, (*twins).closeGeneration, (*twins).cancelRun, (*twins).endRun, (*twins).lookByHand}, 2),
	slices.Repeat([]func(*twins){(*twins).completeRun}, 3),
	[]func(*twins){(*twins).giveUp, (*twins).retry},
	slices.Repeat([]func(*twins){(*twins).plant, (*twins).stand, (*twins).startQueued, (*twins).release, (*twins).cancel}, 2),
	[]func(*twins){
		(*twins).register, (*twins).progress,
		(*twins).lose, (*twins).sweep, (*twins).list, (*twins).pause, (*twins).forget, (*twins).askPlans,
	})

func (w *twins) look() {
	id := w.someOp()
	_, _ = w.both("operation", func(s ktrdr.Store) (any, error) { return s.Operation(w.ctx, id) })
}

func (w *twins) create() {
	n := ktrdr.NewOperation{
		ID:       ktrdr.OperationID(w.name("op_dummy")),
		Type:     draw(w, "type", ktrdr.Dummy, ktrdr.Dummy, ktrdr.Training, ktrdr.AgentDesign),
		Priority: draw(w, "priority", 0, 0, 1),
	}
	n.BackendLocal = n.Type == ktrdr.AgentDesign
	key := ktrdr.IdempotencyKey{Key: draw(w, "key", "", "", "k1", "k2"), Body: ktrdr.Hash{draw[byte](w, "body", 1, 2)}}
	if key.Key != "" {
		key.Key = w.lifeName(key.Key)
	}
	if draw(w, "child", false, false, false, true) {
		n.Parent = w.someOp()
	}
	answer, err := w.both("create", func(s ktrdr.Store) (any, error) { return s.Create(w.ctx, n, key) })
	if op, ok := answer.(ktrdr.Operation); ok && err == nil && !slices.Contains(w.ops, op.ID) {
		w.ops = append(w.ops, op.ID)
	}
}

// lifeName is the same name whenever it is used in this life.
func (w *twins) lifeName(s string) string { return fmt.Sprintf("%s_%06d", s, w.lives) }

func (w *twins) plant() {
	n := parentOf(treeSpec{
		Named:    true,
		Children: draw(w, "children", 1, 2, 3),
		Parallel: draw(w, "parallel", false, true),
		Depth:    draw(w, "depth", 0, 0, 1),
		Local:    draw(w, "local", false, false, true),
		Trouble:  draw(w, "trouble", "", "", "", "", "error", "panic"),
		When:     draw(w, "when", ktrdr.WhyChild, ktrdr.WhyCreated, ktrdr.WhyResumed),
	})
	n.ID = ktrdr.OperationID(w.name("op_tree"))
	n.Priority = draw(w, "priority", 0, 0, 1)
	if _, err := w.both("plant", func(s ktrdr.Store) (any, error) { return s.Create(w.ctx, n, ktrdr.IdempotencyKey{}) }); err == nil {
		w.ops = append(w.ops, n.ID)
	}
}

// stand plants a tree that stands in a line and notes how it ends.
func (w *twins) stand() {
	n := parentOf(treeSpec{
		Named: true, Children: draw(w, "children", 1, 2), Noted: w.lifeName(draw(w, "noted", "n1", "n2", "n3")),
		Trouble: draw(w, "trouble", "", "", "", "", "panic"), When: draw(w, "when", ktrdr.WhyReconcile, ktrdr.WhyCreated),
		Rung:  draw(w, "rung", "nothing", ktrdr.RungFinalist, ktrdr.RungFinalist, ktrdr.RungRejected),
		Score: draw(w, "score", nil, new(1.5), new(-2.0), new(1.5)),
	})
	n.ID = ktrdr.OperationID(w.name("op_queued"))
	n.Priority = draw(w, "priority", 0, 0, 1)
	n.Queue = &ktrdr.Queue{
		Name: w.lifeName("line"), Limit: draw(w, "limit", 1, 2), Force: draw(w, "force", true, true, false),
		Run: draw(w, "run", "", w.someRun(), w.someRun()), Generation: draw(w, "generation", 0, 0, 1, 2), Index: len(w.ops),
	}
	own := rapid.IntRange(0, 3).Draw(w.T, "own")
	if _, err := w.both("stand", func(s ktrdr.Store) (any, error) {
		n.Trial = on(own, w.market[s])
		return s.Create(w.ctx, n, ktrdr.IdempotencyKey{})
	}); err == nil {
		w.ops = append(w.ops, n.ID)
	}
}

func (w *twins) startQueued() {
	limit := draw(w, "limit", 1, 2, 3)
	_, _ = w.both("start queued", func(s ktrdr.Store) (any, error) { return s.StartQueued(w.ctx, w.lifeName("line"), limit) })
	_, _ = w.both("queues", func(s ktrdr.Store) (any, error) { return s.QueueCounts(w.ctx) })
}

func (w *twins) askPlans() {
	_, _ = w.both("ask plans", func(s ktrdr.Store) (any, error) { return s.AskPlans(w.ctx) })
}

func (w *twins) claim() {
	r := ktrdr.ClaimRequest{
		Worker: draw[ktrdr.WorkerID](w, "worker", "w1", "w2"), Free: 1,
		Types: draw(w, "types", typeNames, []ktrdr.Type{ktrdr.Dummy}, []ktrdr.Type{ktrdr.Training, ktrdr.AgentDesign}),
		Key:   draw(w, "key", "", "k1", "k2"),
	}
	if r.Key == "" {
		r.Key = w.name("key")
	}
	// A holder that never started is one that died long ago.
	holder := draw(w, "holder", "", "", "", "", w.backend.Incarnation, "ghost")
	answer, _ := w.both("claim", func(s ktrdr.Store) (any, error) { return s.Claim(w.ctx, r, holder) })
	if task, ok := answer.(*ktrdr.Task); ok && task != nil {
		w.claims = append(w.claims, ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch})
	}
}

func (w *twins) report() {
	h := ktrdr.Heartbeat{Worker: draw[ktrdr.WorkerID](w, "worker", "w1", "w2")}
	for range rapid.IntRange(0, 3).Draw(w.T, "claims") {
		h.Running = append(h.Running, w.someClaim())
	}
	_, _ = w.both("orders", func(s ktrdr.Store) (any, error) { return s.Orders(w.ctx, h.Running) })
	_, _ = w.both("report", func(s ktrdr.Store) (any, error) { return s.Report(w.ctx, h) })
}

func (w *twins) progress() {
	c := w.someClaim()
	p := ktrdr.ProgressReport{Operation: c.Operation, Epoch: c.Epoch, Progress: ktrdr.Progress{StepsCompleted: c.Step, CurrentStep: "working"}}
	_, _ = w.both("progress", func(s ktrdr.Store) (any, error) { return nil, s.SaveProgress(w.ctx, p) })
}

func (w *twins) checkpoint() {
	n := w.newCheckpoint(w.someClaim())
	_, _ = w.both("checkpoint", func(s ktrdr.Store) (any, error) { return s.SaveCheckpoint(w.ctx, n, nil) })
	_, _ = w.both("newest", func(s ktrdr.Store) (any, error) { return s.Checkpoint(w.ctx, n.Operation, "") })
}

func (w *twins) newCheckpoint(c ktrdr.Claimed) ktrdr.NewCheckpoint {
	n := checkpoint(ktrdr.Task{Operation: c.Operation, Epoch: c.Epoch}, int64(rapid.IntRange(1, 9).Draw(w.T, "seq")), c.Step)
	n.Type = draw(w, "checkpoint type", ktrdr.CheckpointPeriodic, ktrdr.CheckpointFinal)
	return n
}

func (w *twins) finish() {
	c := w.someClaim()
	f := ending(ktrdr.Task{Operation: c.Operation, Epoch: c.Epoch},
		draw(w, "outcome", ktrdr.Completed, ktrdr.Completed, ktrdr.Failed, ktrdr.Failed, ktrdr.Cancelled, ktrdr.Running))
	if f.Outcome == ktrdr.Completed {
		f.Result = w.saying()
	}
	if draw(w, "with a checkpoint", false, true) {
		n := w.newCheckpoint(c)
		f.Checkpoint = &n
	}
	_, _ = w.both("finish", func(s ktrdr.Store) (any, error) { return s.Finish(w.ctx, f) })
}

func (w *twins) release() {
	c := w.someClaim()
	r := ktrdr.Released{Operation: c.Operation, Epoch: c.Epoch, Reason: ktrdr.MessageReleased}
	r.AfterSeconds = draw[float64](w, "wait", 0, 0, 3600, -1) // an hour is longer than any life here
	_, _ = w.both("release", func(s ktrdr.Store) (any, error) { return nil, s.Release(w.ctx, r) })
}

func (w *twins) cancel() {
	id := w.someOp()
	if live := w.live(); len(live) > 0 && draw(w, "live", true, true, false) {
		id = draw(w, "claim", live...).Operation
	}
	type cancelled struct {
		Operation ktrdr.Operation
		Reached   []ktrdr.OperationID
	}
	_, _ = w.both("cancel", func(s ktrdr.Store) (any, error) {
		op, reached, err := s.Cancel(w.ctx, id, "enough")
		slices.Sort(reached)
		return cancelled{op, reached}, err
	})
}

// resume picks what can be resumed, mostly.
func (w *twins) resume() {
	can := w.resumable()
	if len(can) == 0 {
		w.fail()
		can = w.resumable()
	}
	id := w.someOp()
	if len(can) > 0 && draw(w, "resumable", true, true, true, false) {
		id = draw(w, "operation", can...)
	}
	_, _ = w.both("resume", func(s ktrdr.Store) (any, error) { return s.Resume(w.ctx, id) })
}

func (w *twins) resumable() []ktrdr.OperationID {
	page, err := w.stores[0].List(w.ctx, ktrdr.OperationQuery{Resumable: true, Limit: 1000})
	w.must(err)
	ids := idsOf(page.Operations)
	return slices.DeleteFunc(slices.Clone(w.ops), func(id ktrdr.OperationID) bool { return !slices.Contains(ids, id) })
}

// fail ends a live claim so that it can be resumed.
func (w *twins) fail() {
	live := w.live()
	if len(live) == 0 {
		return
	}
	c := draw(w, "claim", live...)
	f := ending(ktrdr.Task{Operation: c.Operation, Epoch: c.Epoch}, ktrdr.Failed)
	n := w.newCheckpoint(c)
	f.Checkpoint = &n
	_, _ = w.both("fail", func(s ktrdr.Store) (any, error) { return s.Finish(w.ctx, f) })
}

// sweep judges under a timeout that no worker reaches.
func (w *twins) sweep() {
	judge := draw(w, "judge", false, true)
	_, _ = w.both("sweep", func(s ktrdr.Store) (any, error) {
		r, err := s.Sweep(w.ctx, w.backend, keep, judge)
		return sorted(r), err
	})
}

// lose sweeps under a timeout that all workers have passed, until the clock of
// the store has passed it too.
func (w *twins) lose() {
	p := forced
	p.Late = keep.Late // the backend itself is there
	p.AutoResume = draw(w, "auto-resume", true, true, false)
	_, _ = w.both("lose", func(s ktrdr.Store) (any, error) {
		var sum ktrdr.Recovered
		for end := time.Now().Add(patience); ; {
			r, err := s.Sweep(w.ctx, w.backend, p, true)
			if err != nil {
				return sum, err
			}
			sum.Orphaned = append(sum.Orphaned, r.Orphaned...)
			sum.Requeued = append(sum.Requeued, r.Requeued...)
			sum.Failed = append(sum.Failed, r.Failed...)
			if r.NextOrphan == 0 {
				return sorted(sum), nil
			}
			if time.Now().After(end) {
				return sum, fmt.Errorf("%d operations still run after %v", r.Potential, patience)
			}
		}
	})
}

func sorted(r ktrdr.Recovered) ktrdr.Recovered {
	slices.SortFunc(r.Orphaned, func(a, b ktrdr.Orphan) int { return strings.Compare(string(a.Operation), string(b.Operation)) })
	for _, ids := range [][]ktrdr.OperationID{r.Requeued, r.Failed, r.Reconciling} {
		slices.Sort(ids)
	}
	return r
}

// start begins a new life while something runs; the workers report to it,
// mostly.
func (w *twins) start() {
	w.claim()
	w.restart(draw(w, "policy", keep, keep, keep, keep, failing()))
	if draw(w, "reported to", true, true, true, false) {
		h := ktrdr.Heartbeat{Worker: "w1", Running: w.live()}
		_, _ = w.both("report", func(s ktrdr.Store) (any, error) { return s.Report(w.ctx, h) })
	}
}

func (w *twins) restart(p ktrdr.RecoveryPolicy) {
	w.backend = ktrdr.Backend{ID: "b", Incarnation: ktrdr.Incarnation(w.name("life"))}
	_, _ = w.both("start", func(s ktrdr.Store) (any, error) {
		r, err := s.Start(w.ctx, w.backend, p)
		return sorted(r), err
	})
	_, _ = w.both("beat", func(s ktrdr.Store) (any, error) { return nil, s.Beat(w.ctx, w.backend) })
}

func (w *twins) pause() {
	paused := draw(w, "paused", false, false, false, true)
	_, _ = w.both("pause", func(s ktrdr.Store) (any, error) { return nil, s.SetPaused(w.ctx, paused) })
	_, _ = w.both("paused", func(s ktrdr.Store) (any, error) { return s.Paused(w.ctx) })
}

func (w *twins) register() {
	r := ktrdr.Registration{
		Protocol: ktrdr.Protocol,
		Worker:   ktrdr.Worker{ID: draw[ktrdr.WorkerID](w, "worker", "w1", "w2"), Types: typeNames},
	}
	r.Running = append(r.Running, w.someClaim())
	r.Finished = append(r.Finished, w.someClaim())
	_, _ = w.both("register", func(s ktrdr.Store) (any, error) { return s.RegisterWorker(w.ctx, r) })
}

func (w *twins) forget() {
	id := w.someOp()
	_, _ = w.both("forget", func(s ktrdr.Store) (any, error) { return s.DeleteCheckpoints(w.ctx, id) })
}

func (w *twins) skip() {
	c := w.someClaim()
	k := ktrdr.Skip{
		Operation: c.Operation, Epoch: c.Epoch, Reason: "unreadable",
		Checkpoint: ktrdr.CheckpointID(max(1, c.Epoch-draw[ktrdr.Epoch](w, "epochs ago", 0, 1)), int64(rapid.IntRange(1, 9).Draw(w.T, "seq"))),
	}
	made := w.loadable()
	if len(made) == 0 {
		w.checkpoint()
		made = w.loadable()
	}
	if len(made) > 0 && draw(w, "one that was made", true, true, true, false) {
		k = draw(w, "checkpoint", made...)
	}
	_, _ = w.both("skip", func(s ktrdr.Store) (any, error) { return nil, s.SkipCheckpoint(w.ctx, k) })
}

// loadable lists what live claims would start from.
func (w *twins) loadable() (all []ktrdr.Skip) {
	for _, c := range w.live() {
		newest, err := w.stores[0].Checkpoint(w.ctx, c.Operation, "")
		if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
			continue
		}
		w.must(err)
		all = append(all, ktrdr.Skip{Operation: c.Operation, Epoch: c.Epoch, Checkpoint: newest.ID, Reason: "unreadable"})
	}
	return all
}

// list compares what filters select; the order of what was made in the same
// tick of a clock is the clock's.
func (w *twins) list() {
	q := draw(w, "query",
		ktrdr.OperationQuery{ActiveOnly: true},
		ktrdr.OperationQuery{ActiveOnly: true, Roots: true},
		ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Running, ktrdr.Reconciling}, Type: []ktrdr.Type{ktrdr.Dummy}},
		ktrdr.OperationQuery{Parent: w.someOp()})
	q.Limit = 1000
	_, _ = w.both("list", func(s ktrdr.Store) (any, error) {
		page, err := s.List(w.ctx, q)
		slices.SortFunc(page.Operations, func(a, b ktrdr.Operation) int { return strings.Compare(string(a.ID), string(b.ID)) })
		return page, err
	})
}
