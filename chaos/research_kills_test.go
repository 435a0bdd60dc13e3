package chaos_test

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// between is the time between two kills.
const between = 2 * time.Second

// dawdle makes every phase take its time, so that kills meet all of them, while
// the machine has little to compute.
const dawdle = "KTRDR_INJECT=delay=250ms:designing:,delay=600ms:training:,delay=300ms:backtesting:,delay=250ms:assessing:"

// researches is how many the run has.
func researches() int {
	if soak() {
		return 200
	}
	return 30
}

// TestResearchRun_KillsChangeNoVerdict researches a market while backend or
// worker is killed every two seconds, and wants of it, place by place and hash
// for hash, the ledger of a run that nothing disturbed.
func TestResearchRun_KillsChangeNoVerdict(t *testing.T) {
	t.Parallel()
	seed := seed(t)
	request := research.Request{
		Brief: "mean reversion on EURUSD 1h, simple", Count: researches(), Seed: new(seed % 1000), Symbols: []string{"EURUSD"}, Timeframe: "1h",
	}
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	calm.Market("EURUSD", 1500, seed)
	undisturbed := calm.ServeWith(2)
	made := calm.Research(request, "calm")
	for _, r := range made.Operations {
		calm.Until(r.Operation, 5*time.Minute, "ended", func(op ktrdr.Operation) bool { return op.Status.Terminal() })
		calm.AuditResearch(r.Operation)
	}
	calm.RunEnds(made.Run)
	want, looks := calm.Ledger(made.Run), calm.Looks(made.Run)
	undisturbed.End(syscall.SIGTERM)
	if len(want) != researches() {
		t.Fatalf("the undisturbed ledger has %d places, want %d", len(want), researches())
	}

	onBoth(t, labtest.Quick, func(t *testing.T, lab *labtest.Lab) {
		lab.Market("EURUSD", 1500, seed)
		n := &researchKills{t: t, lab: lab, rng: rand.New(rand.NewPCG(seed, 2))} //nolint:gosec // a seeded test, not a secret
		run := n.begin(request)
		for n.open() > 0 {
			n.strike()
		}
		lab.RunEnds(run)
		n.audit(request, run)
		if diff := cmp.Diff(want, lab.Ledger(run)); diff != "" {
			t.Errorf("the ledger differs from the undisturbed one (- undisturbed, + this):\n%s", diff)
		}
		if diff := cmp.Diff(looks, lab.Looks(run)); diff != "" {
			t.Errorf("the looks differ from the undisturbed ones (- undisturbed, + this):\n%s", diff)
		}
		lab.Audit()
	})
}

type researchKills struct {
	t       *testing.T
	lab     *labtest.Lab
	rng     *rand.Rand
	backend *labtest.Process
	workers [2]*labtest.Process

	began  time.Time
	ids    []ktrdr.OperationID
	killed struct{ backends, workers int }
}

func (n *researchKills) begin(request research.Request) string {
	n.t.Helper()
	n.began = time.Now()
	n.backend = n.lab.Serve(dawdle)
	for i := range n.workers {
		n.workers[i] = n.lab.ResearcherIn(n.lab.WorkerDir(i + 1))
	}
	made := make(chan research.Triggered, 1)
	go func() { made <- n.lab.Research(request, "kills") }()
	n.backend.Kill() // while the run is being created, or nearly so
	n.killed.backends++
	n.backend = n.lab.Serve(dawdle)
	var run research.Triggered
	select {
	case run = <-made:
	case <-time.After(2 * time.Minute):
		n.t.Fatal("the trigger was not answered")
	}
	for _, r := range run.Operations {
		n.ids = append(n.ids, r.Operation)
	}
	return run.Run
}

// open counts the researches that have not ended.
func (n *researchKills) open() (open int) {
	n.t.Helper()
	limit := 3 * time.Minute
	if soak() {
		limit = 20 * time.Minute
	}
	for _, id := range n.ids {
		if op := n.lab.Op(id); !op.Status.Terminal() {
			open++
		}
	}
	if open > 0 && time.Since(n.began) > limit {
		n.t.Fatalf("after %v %d of %d researches have not ended", limit, open, len(n.ids))
	}
	return open
}

// strike waits, then kills the backend or a worker and starts it again at once. An
// operation fails when its third worker in a row dies: then the backend is killed
// instead.
func (n *researchKills) strike() {
	<-time.After(between)
	if n.rng.IntN(2) == 0 || n.nearlyPoison() {
		n.backend.Kill()
		n.killed.backends++
		n.backend = n.lab.Serve(dawdle)
		return
	}
	i := n.rng.IntN(len(n.workers))
	n.workers[i].Kill()
	n.killed.workers++
	n.workers[i] = n.lab.ResearcherIn(n.lab.WorkerDir(i + 1))
}

func (n *researchKills) nearlyPoison() bool {
	n.t.Helper()
	for _, id := range n.ids {
		if slices.ContainsFunc(n.lab.Children(id), func(op ktrdr.Operation) bool {
			return !op.Status.Terminal() && op.Losses >= ktrdr.PoisonLosses-1
		}) {
			return true
		}
	}
	return false
}

// audit looks at every research and its children: none is lost, none doubled.
func (n *researchKills) audit(request research.Request, run string) {
	n.t.Helper()
	again, claims := 0, 0
	for _, id := range n.ids {
		again += n.lab.AuditResearch(id)
		for _, child := range n.lab.Children(id) {
			claims += child.Attempts - 1
		}
	}
	roots := slices.DeleteFunc(n.lab.Roots(), func(op ktrdr.Operation) bool { return op.Type != ktrdr.AgentResearch })
	if len(roots) != researches() {
		n.t.Errorf("%d researches exist in a run of %d", len(roots), researches())
	}
	if same := n.lab.Research(request, "kills"); same.Run != run || len(same.Operations) != len(n.ids) || same.Operation != n.ids[0] {
		n.t.Errorf("the same request again is %+v, want the run %s", same, run)
	}
	n.t.Logf("%d backends and %d workers killed in %v; %d designs and assessments restarted, %d other claims repeated",
		n.killed.backends, n.killed.workers, time.Since(n.began).Round(time.Second), again, claims)
	if n.killed.backends+n.killed.workers < 5 || again+claims == 0 {
		n.t.Error("the kills hit nothing: the test shows nothing")
	}
}
