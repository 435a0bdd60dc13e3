package storetest

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
)

// The size of a differential test: how many lives, and how long each.
const (
	sequences     = 60
	soakSequences = 300
	actsEach      = 40
)

// Differential gives both stores the same random lives and requires the same
// answers of them: everything but instants. KTRDR_SOAK=1 makes many more of
// them, -rapid.checks as many as it says.
func Differential(t *testing.T, openA, openB func(t *testing.T, types ktrdr.Types) ktrdr.Store) {
	n := sequences
	if os.Getenv("KTRDR_SOAK") == "1" {
		n = soakSequences
	}
	setUnlessGiven(t, "rapid.checks", strconv.Itoa(n))
	setUnlessGiven(t, "rapid.nofailfile", "true")

	types := Types(&tree{gate: new(atomic.Bool)})
	w := &twins{told: map[ktrdr.EventKind]int{}, ctx: t.Context(), stores: [2]ktrdr.Store{openA(t, types), openB(t, types)}}
	rapid.Check(t, func(rt *rapid.T) {
		w.begin(rt)
		for range actsEach {
			acts[rapid.IntRange(0, len(acts)-1).Draw(rt, "act")](w)
		}
		w.compareAll()
	})
	t.Logf("%d acts, of which %d were refused; events: %v", w.done, w.refused, w.told)
	if w.lives < sequences || t.Failed() {
		return // -rapid.checks asked for less
	}
	for _, kind := range slices.Concat(ordinary, ledgered) {
		if w.told[kind] < leastTold {
			t.Errorf("%s happened %d times, want at least %d: nothing is shown by what does not happen", kind, w.told[kind], leastTold)
		}
	}
}

// leastTold is how often each ordinary event of an operation has to happen in
// a differential test.
const leastTold = 3

// ledgered is what has to happen of runs, trials and looks.
var ledgered = []ktrdr.EventKind{
	ktrdr.EventRunCancelled, ktrdr.EventRunGivenUp, ktrdr.EventRunEnded, ktrdr.EventGenerationClosed,
	"trial", "look",
}

var ordinary = []ktrdr.EventKind{
	ktrdr.EventCreated, ktrdr.EventClaimed, ktrdr.EventReconciling, ktrdr.EventReported, ktrdr.EventReleased,
	ktrdr.EventCompleted, ktrdr.EventFailed, ktrdr.EventCancelled, ktrdr.EventResumed, ktrdr.EventCancelRequested,
	ktrdr.EventCheckpoint, ktrdr.EventCheckpointSkipped, ktrdr.EventWriteRefused, ktrdr.EventPhase,
}

// setUnlessGiven sets a flag of rapid for the time of a test, if the command
// line did not.
func setUnlessGiven(t *testing.T, name, value string) {
	t.Helper()
	f := flag.Lookup(name)
	if f == nil {
		t.Fatalf("rapid has no flag %s any more", name)
	}
	given := false
	flag.Visit(func(set *flag.Flag) { given = given || set.Name == name })
	if given {
		return
	}
	before := f.Value.String()
	if err := f.Value.Set(value); err != nil { // not flag.Set, which would look like the command line
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Value.Set(before) })
}

// twins is one random life in two stores. Ids are given, never made up, so
// that they are the same in both.
type twins struct {
	*rapid.T
	ctx    context.Context
	stores [2]ktrdr.Store

	market map[ktrdr.Store]string // of this life; each store gives it an id of its own

	lives   int // sequences begun
	names   int // names made in this one
	backend ktrdr.Backend
	ops     []ktrdr.OperationID
	claims  []ktrdr.Claimed // every claim ever handed out, live or not
	done    int
	refused int
	told    map[ktrdr.EventKind]int // what has happened, in all lives
}

func (w *twins) begin(rt *rapid.T) {
	w.lives++
	w.T, w.names, w.ops, w.claims = rt, 0, nil, nil
	for _, s := range w.stores {
		w.must(s.SetPaused(w.ctx, false))
		w.closeAll(s)
	}
	w.market = map[ktrdr.Store]string{}
	for _, s := range w.stores {
		added, err := s.AddSeries(w.ctx, ktrdr.NewSeries{MarketSeries: series(w.lifeName("A"), "1h", 1)})
		w.must(err)
		w.market[s] = added.Market
	}
	w.restart(keep)
}

// closeAll ends what the life before left open, so that each begins in an
// empty world, also after one that went wrong.
func (w *twins) closeAll(s ktrdr.Store) {
	for range 100 { // a parent ends after its children
		page, err := s.List(w.ctx, ktrdr.OperationQuery{ActiveOnly: true, Limit: 1000})
		w.must(err)
		if len(page.Operations) == 0 {
			return
		}
		for _, op := range page.Operations {
			_, _, err := s.Cancel(w.ctx, op.ID, "the end")
			if err == nil && op.Status.Live() && !op.HasPlan {
				_, err = s.Finish(w.ctx, ktrdr.Finished{Operation: op.ID, Epoch: op.Epoch, Outcome: ktrdr.Cancelled})
			}
			if err != nil && ktrdr.CodeOf(err) != ktrdr.CodeConflict {
				w.Fatalf("end of %s: %v", op.ID, err)
			}
		}
	}
	w.Fatalf("operations stay open whatever is done")
}

func (w *twins) must(err error) {
	w.Helper()
	if err != nil {
		w.Fatalf("%v", err)
	}
}

// Fatalf tells a failure without the number of its life: rapid shrinks only
// what fails in the same words again.
func (w *twins) Fatalf(format string, args ...any) {
	w.Helper()
	w.T.Fatalf("%s", strings.ReplaceAll(fmt.Sprintf(format, args...), fmt.Sprintf("_%06d", w.lives), ""))
}

// both asks both stores and requires the same answer.
func (w *twins) both(what string, ask func(s ktrdr.Store) (any, error)) (answer any, err error) {
	w.Helper()
	w.done++
	answer, err = ask(w.stores[0])
	other, otherErr := ask(w.stores[1])
	if ktrdr.CodeOf(err) != ktrdr.CodeOf(otherErr) || err != nil && err.Error() != otherErr.Error() {
		w.Fatalf("%s: one store says %v, the other %v", what, err, otherErr)
	}
	switch ktrdr.CodeOf(err) {
	case "":
	case ktrdr.CodeInternal, ktrdr.CodeUnavailable, ktrdr.CodeUnknownResult:
		w.Fatalf("%s: %v", what, err)
	default:
		w.refused++
	}
	if diff := cmp.Diff(answer, other, cmpopts.EquateEmpty(), timeless); diff != "" {
		w.Fatalf("%s: the stores differ (-one +other):\n%s", what, diff)
	}
	return answer, err
}

// timeless compares instants by whether there is one, and skips durations. Each store
// names its markets by itself, and a hash of a chain covers the name.
var timeless = cmp.Options{
	cmp.Comparer(func(a, b time.Time) bool { return a.IsZero() == b.IsZero() }),
	cmp.Comparer(func(time.Duration, time.Duration) bool { return true }),
	cmp.Comparer(func(a, b ktrdr.ChainHead) bool { return a.Links == b.Links }),
	cmpopts.IgnoreFields(ktrdr.Recovered{}, "Potential", "NextOrphan"),
}

// told is what events say but for cursors and instants. The two databases
// write their data each in its own way.
func told(events []ktrdr.Event) []string {
	var all []string
	for _, e := range events {
		data := string(e.Data)
		var v map[string]any
		if json.Unmarshal(e.Data, &v) == nil {
			delete(v, "created_at")
			text, _ := json.Marshal(v) // what was decoded can be encoded
			data = string(text)
		}
		all = append(all, fmt.Sprintf("%s at epoch %d: %s", e.Kind, e.Epoch, data))
	}
	return all
}

// compareAll compares every operation of this life, its children, checkpoints
// and events.
func (w *twins) compareAll() {
	w.Helper()
	w.findChildren()
	for _, id := range w.ops {
		_, _ = w.both("operation "+string(id), func(s ktrdr.Store) (any, error) { return s.Operation(w.ctx, id) })
		_, _ = w.both("history of "+string(id), func(s ktrdr.Store) (any, error) { return s.History(w.ctx, id) })
	}
	w.compareLedger()
	_, _ = w.both("horizon", func(s ktrdr.Store) (any, error) { return s.Horizon(w.ctx) })
	_, _ = w.both("notes", func(s ktrdr.Store) (any, error) { return s.Notes(w.ctx, ktrdr.NoteQuery{Limit: actsEach}) })
	w.caughtUp()
	for _, id := range w.ops {
		events, _ := w.both("events of "+string(id), func(s ktrdr.Store) (any, error) {
			events, err := s.Events(w.ctx, ktrdr.EventQuery{Operation: id, Limit: 1000})
			return told(events), err
		})
		for _, line := range events.([]string) {
			kind, _, _ := strings.Cut(line, " ")
			w.told[ktrdr.EventKind(kind)]++
		}
	}
}

// findChildren adds the operations that plans have made.
func (w *twins) findChildren() {
	for i := 0; i < len(w.ops); i++ {
		page, err := w.stores[0].List(w.ctx, ktrdr.OperationQuery{Parent: w.ops[i], Limit: 1000})
		w.must(err)
		for _, child := range byOrdinal(page.Operations) {
			if !slices.Contains(w.ops, child.ID) {
				w.ops = append(w.ops, child.ID)
			}
		}
	}
}

// caughtUp waits until both logs show everything that has happened.
func (w *twins) caughtUp() {
	marker := ktrdr.WorkerID(w.name("marker"))
	for _, s := range w.stores {
		before, err := s.LastEvent(w.ctx)
		w.must(err)
		_, err = s.RegisterWorker(w.ctx, ktrdr.Registration{
			Protocol: ktrdr.Protocol,
			Worker:   ktrdr.Worker{ID: marker, Types: []ktrdr.Type{ktrdr.Dummy}},
		})
		w.must(err)
		w.must(s.RemoveWorker(w.ctx, marker, ""))
		pace := time.NewTicker(2 * time.Millisecond)
		for end := time.Now().Add(patience); ; <-pace.C {
			news, err := s.Events(w.ctx, ktrdr.EventQuery{After: before, Limit: 1000})
			w.must(err)
			if slices.ContainsFunc(news, func(e ktrdr.Event) bool { return strings.Contains(string(e.Data), `"`+string(marker)+`"`) }) {
				break
			}
			if time.Now().After(end) {
				w.Fatalf("the log did not catch up in %v", patience)
			}
		}
		pace.Stop()
	}
}

// name makes a text that no other life has and that sorts by when it was made.
func (w *twins) name(prefix string) string {
	w.names++
	return fmt.Sprintf("%s_%06d_%03d", prefix, w.lives, w.names)
}

// draw picks one of all.
func draw[T any](w *twins, what string, all ...T) T { return rapid.SampledFrom(all).Draw(w.T, what) }

// someOp picks an operation of this life; an id that does not exist before the
// first is created.
func (w *twins) someOp() ktrdr.OperationID {
	w.findChildren()
	if len(w.ops) == 0 {
		return "op_dummy_nobody"
	}
	return draw(w, "operation", w.ops...)
}

// someClaim picks a claim: mostly a live one with its own epoch, sometimes one
// that was handed out long ago, or an epoch that was not given.
func (w *twins) someClaim() ktrdr.Claimed {
	if len(w.claims) == 0 {
		return ktrdr.Claimed{Operation: w.someOp(), Epoch: 1}
	}
	from := w.claims
	if live := w.live(); len(live) > 0 && draw(w, "live", true, true, true, true, false) {
		from = live
	}
	c := draw(w, "claim", from...)
	c.Epoch += draw[ktrdr.Epoch](w, "epoch less its own", 0, 0, 0, 0, 0, 0, 0, 0, -1, 1)
	c.Step = int64(rapid.IntRange(0, 4).Draw(w.T, "step"))
	return c
}

// live lists the live claims.
func (w *twins) live() []ktrdr.Claimed {
	page, err := w.stores[0].List(w.ctx, ktrdr.OperationQuery{Status: []ktrdr.Status{ktrdr.Running, ktrdr.Reconciling}, Limit: 1000})
	w.must(err)
	var live []ktrdr.Claimed
	for _, c := range w.claims {
		if slices.ContainsFunc(page.Operations, func(op ktrdr.Operation) bool { return op.ID == c.Operation && op.Epoch == c.Epoch }) {
			live = append(live, c)
		}
	}
	return live
}
