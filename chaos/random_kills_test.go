package chaos_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
)

// kills is how many processes are killed.
func kills() int {
	if soak() {
		return 200
	}
	return 50
}

// seed is printed with every run; KTRDR_SEED repeats one.
func seed(t *testing.T) uint64 {
	t.Helper()
	s := uint64(time.Now().UnixNano())
	if text := os.Getenv("KTRDR_SEED"); text != "" {
		v, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("KTRDR_SEED=%s is not a number", text)
		}
		s = v
	}
	t.Logf("KTRDR_SEED=%d repeats this run", s)
	return s
}

// TestKills_AtRandomLoseNothingAndChangeNothing kills backends and workers
// at random while work is submitted, and then wants every operation completed
// with the result of an undisturbed run, none lost and none doubled.
func TestKills_AtRandomLoseNothingAndChangeNothing(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		run := &killing{t: t, lab: lab, rng: rand.New(rand.NewPCG(seed(t), 1))} //nolint:gosec // a seeded test, not a secret
		run.begin()
		for run.killed < kills() {
			run.submit()
			run.strike()
		}
		run.heal()
		run.audit()
	})
}

type killing struct {
	t       *testing.T
	lab     *labtest.Lab
	rng     *rand.Rand
	backend *labtest.Process
	workers [2]*labtest.Process

	killed, zombies, keys int
	unsure                []attempt // submits without an answer
	retried               map[ktrdr.OperationID]bool
}

type attempt struct {
	key  string
	spec dummy.Spec
}

func (n *killing) begin() {
	n.backend = n.lab.Serve()
	for i := range n.workers {
		n.workers[i] = n.lab.Worker()
	}
}

// spec draws small work: single operations and trees, with checkpoints,
// artifacts and none.
func (n *killing) spec() dummy.Spec {
	leaf := func() dummy.Spec {
		return dummy.Spec{
			Steps: 20 + n.rng.IntN(80), StepMS: float64(5 + n.rng.IntN(15)),
			CheckpointEvery: n.rng.IntN(10), ArtifactBytes: n.rng.IntN(2) * 70_000,
		}
	}
	if n.rng.IntN(4) > 0 {
		return leaf()
	}
	tree := dummy.Spec{Parallel: n.rng.IntN(2) == 0}
	for range 2 + n.rng.IntN(2) {
		tree.Children = append(tree.Children, leaf())
	}
	return tree
}

// submit submits under a key. Without an answer the same key is tried again
// later: one operation must come of it.
func (n *killing) submit() {
	n.keys++
	a := attempt{key: fmt.Sprintf("kills-%d", n.keys), spec: n.spec()}
	if _, err := n.lab.TrySubmit(a.spec, a.key); err != nil {
		n.unsure = append(n.unsure, a)
	}
}

// strike does one bad thing and lets the system live a little.
func (n *killing) strike() {
	i := n.rng.IntN(len(n.workers))
	switch n.rng.IntN(6) {
	case 0, 1:
		n.backend.Kill()
		n.killed++
		n.wait(200)
		n.backend = n.lab.Serve()
	case 2, 3:
		n.workers[i].Kill()
		n.killed++
		n.wait(100)
		n.workers[i] = n.lab.WorkerIn(n.lab.WorkerDir(i + 1))
	case 4:
		n.backend.Kill()
		n.workers[i].Kill()
		n.killed += 2
		n.backend = n.lab.Serve()
		n.workers[i] = n.lab.WorkerIn(n.lab.WorkerDir(i + 1))
	case 5: // a zombie: frozen past the timeout, then continued
		if n.zombies++; n.zombies > kills()/15 {
			n.zombies--
			return
		}
		n.workers[i].Stop()
		n.wait(int(labtest.Quick.Timeout.Milliseconds()) + 700)
		n.workers[i].Cont()
	}
	n.wait(800)
}

func (n *killing) wait(ms int) {
	<-time.After(time.Duration(n.rng.IntN(ms+1)) * time.Millisecond)
}

// heal resumes the FAILED operations until everything has completed:
// from its checkpoint, or, when it never came to one, from the beginning.
func (n *killing) heal() {
	n.t.Helper()
	for _, a := range n.unsure {
		if _, err := n.lab.TrySubmit(a.spec, a.key); err != nil {
			n.t.Fatalf("repeat of %s: %v", a.key, err)
		}
	}
	deadline := time.Now().Add(2 * time.Minute)
	n.retried = map[ktrdr.OperationID]bool{}
	for {
		var open []string
		for _, op := range n.lab.Roots() {
			switch {
			case op.Status == ktrdr.Completed || n.retried[op.ID]:
				continue
			case op.Status == ktrdr.Failed && op.Checkpoint == nil:
				n.retried[op.ID] = true
				n.lab.Retry(op.ID)
			case op.Status == ktrdr.Failed:
				n.lab.TryResume(op.ID)
			}
			open = append(open, fmt.Sprintf("%s %s epoch %d step %d: %s", op.ID, op.Status, op.Epoch, op.MaxStep, op.ErrorMessage))
		}
		if len(open) == 0 {
			return
		}
		if time.Now().After(deadline) {
			n.t.Fatalf("%d operations have not completed two minutes after the last kill:\n%s", len(open), strings.Join(open, "\n"))
		}
		<-time.After(100 * time.Millisecond)
	}
}

func (n *killing) audit() {
	n.t.Helper()
	roots := n.lab.Roots()
	if want := n.keys + len(n.retried); len(roots) != want {
		n.t.Errorf("%d operations from %d keys and %d retries: submits were lost or doubled", len(roots), n.keys, len(n.retried))
	}
	resumed := 0
	for _, op := range roots {
		resumed += max(0, op.Attempts-1)
	}
	n.t.Logf("%d kills, %d zombies, %d operations, %d further claims, %v writes refused by the last backend",
		n.killed, n.zombies, len(roots), resumed, n.lab.Metric("ktrdr_writes_refused_total"))
	if resumed == 0 {
		n.t.Error("no operation was ever claimed twice: the kills hit nothing")
	}
	n.lab.Audit()
}
