package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/resilience"
)

// playLab plays a lab with a run, two researches, two workers and a breaker.
func playLab(t *testing.T) *played {
	t.Helper()
	p := playRun(t)
	p.run.CreatedAt = ago(50 * time.Hour)
	p.workers = []ktrdr.Worker{
		{
			ID: "w_AAAAAAAA", Name: "desk" + evil, Live: true, Slots: 2, Running: 1, Types: []ktrdr.Type{ktrdr.Training}, Host: "box", PID: 7,
			SeenAt: ago(50 * time.Hour),
		},
		{
			ID: "w_BBBBBBBB", Name: "rack", Live: false, Slots: 4, Types: []ktrdr.Type{ktrdr.Backtesting}, Host: "box", PID: 8,
			SeenAt: ago(80 * time.Hour),
		},
	}
	at := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	b := resilience.Status{Enabled: true, Refused: 3}
	b.Name, b.State, b.Trip, b.Calls, b.Failures = "llm:model", ktrdr.BreakerOpen, "5 failures in a row"+evil, 9, 5
	p.breakers = []resilience.Status{b}
	p.history = []ktrdr.BreakerChange{{
		Name: "llm:model", From: ktrdr.BreakerClosed, To: ktrdr.BreakerOpen, Reason: "rate limit " + evil, At: at,
	}}
	research := ktrdr.Operation{
		ID: p.status.Active[0].Operation, Type: ktrdr.AgentResearch, Status: ktrdr.Running, Phase: "TRAINING", HasPlan: true, Run: playedRun,
		CreatedAt: ago(50 * time.Hour), StartedAt: ago(50 * time.Hour), Progress: progress(25, "", ""),
	}
	training := ktrdr.Operation{
		ID: p.status.Active[0].Child, Type: ktrdr.Training, Status: ktrdr.Running, Parent: research.ID, Run: playedRun,
		CreatedAt: ago(50 * time.Hour), StartedAt: ago(50 * time.Hour), Worker: "w_AAAAAAAA",
		Progress: progress(40, "epoch 12 of 30 "+evil, `{"eta_seconds":42}`),
	}
	p.ops = []ktrdr.Operation{research, training}
	p.events = []ktrdr.Event{
		{Cursor: ktrdr.Cursor{Tx: 1, ID: 1}, Operation: training.ID, Kind: ktrdr.EventCreated, At: at},
		{
			Cursor: ktrdr.Cursor{Tx: 2, ID: 2}, Operation: training.ID, Kind: ktrdr.EventReleased, At: at.Add(time.Second),
			Data: reasonOf("stop " + evil),
		},
	}
	return p
}

// TestTop_OnATerminal walks through every view at two widths, opens rows, filters and
// resizes.
func TestTop_OnATerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			p := playLab(t)
			p.url = strings.Replace(p.url, "127.0.0.1", "localhost", 1)
			x := p.on(columns, 20, "top")
			said := transcript{t: t}
			moment := func(title string, texts ...string) {
				said.add(title, strings.ReplaceAll(x.Shows(texts...), p.url, "http://lab"))
			}
			moment("runs", "run_01234567", "Enter open")
			x.Type("2")
			moment("researches", "00000003", "TRAINING", "Enter open")
			x.Type("3")
			moment("workers", "w_AAAAAAAA", "Enter open")
			x.Type("4")
			moment("breakers", "llm:model", "Enter open")
			x.Type("\r")
			moment("a breaker", "breakers > breaker", "rate limit")
			x.Type("5")
			moment("the log", "released", "Enter open")
			x.Type("1")
			x.Shows("run_01234567", "Enter open")
			x.Type("\r")
			moment("a run", "runs > run", "agent_research 00000003", "Enter open")
			x.Type("\r")
			moment("a research", "> operation 00000003", "training aaaaaaaa", "Enter open")
			x.Type("\r")
			moment("a training", "> operation aaaaaaaa", "released")
			x.Resize(60, 16)
			moment("60 columns", "> operation aaaaaaaa", "released")
			x.Resize(columns, 20)
			x.Type("\x1b")
			x.Shows("training aaaaaaaa", "Enter open", "Esc back")
			x.Type("3")
			x.Shows("w_BBBBBBBB")
			x.Type("/rack")
			moment("a filter is typed", "filter: rack_", "type to filter")
			x.Type("\r")
			moment("a filter", "filter: rack (1 of 2)")
			x.Type("q")
			leaves(t, x, 0)
			if got := x.Text(); strings.TrimSpace(got) != "" {
				t.Errorf("top left on the terminal:\n%s", got)
			}
			said.compare(fmt.Sprintf("top_%d", columns))
		})
	}
}

// TestTop_SaysThatTheServerIsAwayAndRecovers kills a real backend under top, and starts
// it again.
func TestTop_SaysThatTheServerIsAwayAndRecovers(t *testing.T) {
	t.Parallel()
	addr := labtest.Address(t)
	l := newLab(t, "LANG=C.UTF-8", "KTRDR_AUTH=none")
	backend := l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "0")
	l.url = "http://" + addr
	x := labtest.OnTerminal(t, l.call("top"), 100, 24)
	x.Shows("No run yet.", "ok; 0 of ")
	backend.Kill()
	x.Shows("No answer from http://"+addr, "trying again")
	l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "1")
	labtest.Eventually(t, 30*time.Second, "the server to be there again", func() bool {
		return !strings.Contains(x.Text(), "No answer") && strings.Contains(x.Text(), "2 workers,")
	})
	x.Type("5")
	x.Shows("backend started")
	id := l.start("--steps", "3")
	x.Shows(ktrdr.OperationID(id).Tail(), "completed")
	x.Type(labtest.CtrlC)
	if code := x.Ended(30 * time.Second); code != exitInterrupted || !x.Restored() {
		t.Errorf("exit code %d, want %d and a terminal as it was before", code, exitInterrupted)
	}
	x = labtest.OnTerminal(t, l.call("top"), 100, 24)
	x.Shows("ok; 0 of ")
	x.Type("5")
	x.Shows("dummy "+ktrdr.OperationID(id).Tail(), "completed", "backend started") // from before it was started
	x.Signal(syscall.SIGTERM)
	if code := x.Ended(30 * time.Second); code != exitInterrupted || !x.Restored() {
		t.Errorf("after SIGTERM: exit code %d, want %d and a terminal as it was before", code, exitInterrupted)
	}
}

func TestTop_NeedsATerminal(t *testing.T) {
	t.Parallel()
	p := play(t)
	l := newLab(t)
	l.url = p.url
	l.refused(exitUsage, "needs a terminal", "top")
	l.refused(exitUsage, "needs a terminal", "top", "--json")
}
