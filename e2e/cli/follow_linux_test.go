package cli

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

const playedRun = "run_0123456789abcdef"

// playRun plays a run of eight researches of which two ended and two are active.
func playRun(t *testing.T) *played {
	t.Helper()
	p := play(t)
	p.run = ktrdr.Run{
		ID: playedRun, Goal: "trend on EURUSD " + evil, State: ktrdr.RunRunning, Size: 8, Planned: 8, CreatedAt: ago(40 * time.Hour),
		Generations: 1, RunCounts: ktrdr.RunCounts{Created: 8, Open: 6, Completed: 1, Rejected: 1},
	}
	training := progress(40, "epoch 12 of 30", `{"loss":0.6931,"val_loss":0.7012,"rows_per_s":123456,"eta_seconds":42}`)
	design := progress(0, "asks the model", "")
	at := func(i int) research.RunPosition { return research.RunPosition{Run: playedRun, Index: i} }
	p.status.Active = []research.Active{
		{
			Operation: "op_agent_research_20261116_120000_00000003", Status: ktrdr.Running, Phase: research.Training, RunPosition: at(2),
			Strategy: "momentum of 日本 prices with a very long name " + evil, Session: 3, Brief: "trend " + evil, Seconds: 90,
			Child: "op_training_20261116_120000_aaaaaaaa", Progress: &training, Worker: "worker-1" + evil,
		},
		{
			Operation: "op_agent_research_20261116_120000_00000004", Status: ktrdr.Running, Phase: research.Designing, RunPosition: at(3),
			Child: "op_agent_design_20261116_120000_bbbbbbbb", Progress: &design, Session: 4, Seconds: 3,
		},
	}
	p.status.Capacity = ktrdr.QueueHealth{Active: 2, Limit: 4, Waiting: 4}
	return p
}

// endThird ends the third research, which failed.
func (p *played) endThird() {
	ended := ktrdr.Operation{
		ID: p.status.Active[0].Operation, Type: ktrdr.AgentResearch, Status: ktrdr.Failed, ErrorMessage: "the worker of it died " + evil,
		CreatedAt: ago(time.Minute), StartedAt: ago(time.Minute), CompletedAt: ago(0), Run: playedRun,
	}
	p.change(func() {
		p.ops = append(p.ops, ended)
		p.status.Active = p.status.Active[1:]
		p.run.Open, p.run.Failed = 5, 1
	})
}

// TestFollow_ARunOnATerminal plays a run on terminals of two widths, one of which is
// made narrower and wider meanwhile.
func TestFollow_ARunOnATerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			p := playRun(t)
			x := p.on(columns, 24, "follow", playedRun)
			var said transcript
			said.t = t
			said.add("two researches are active", x.Shows("research 3", "2 of 8", "42s left"))
			p.endThird()
			said.add("one of them failed", x.Shows("FAILED", "3 of 8"))
			x.Resize(50, 24)
			said.add("50 columns", x.Shows("FAILED", "… "))
			x.Resize(120, 24)
			said.add("120 columns", x.Shows("finalists, 0 looks"))
			p.change(func() {
				p.status.Active = nil
				p.run.Open, p.run.Completed, p.run.State, p.run.EndedAt = 0, 6, ktrdr.RunCompleted, time.Now()
			})
			leaves(t, x, exitFailed) // a research failed
			said.add("the end", x.Text())
			said.compare(fmt.Sprintf("follow_run_%d", columns))
		})
	}
}

// TestFollow_AnOperationOnATerminal plays a research with its operations, and Ctrl-C.
func TestFollow_AnOperationOnATerminal(t *testing.T) {
	t.Parallel()
	for _, columns := range []int{80, 200} {
		t.Run(fmt.Sprint(columns), func(t *testing.T) {
			t.Parallel()
			p := play(t)
			const root = "op_agent_research_20261116_120000_00000001"
			at := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
			op := func(id ktrdr.OperationID, kind ktrdr.Type, s ktrdr.Status, done ktrdr.Progress) ktrdr.Operation {
				o := ktrdr.Operation{ID: id, Type: kind, Status: s, Progress: done, CreatedAt: at, StartedAt: at, Parent: root, Root: root, Epoch: 1}
				if id == root {
					o.Parent, o.HasPlan, o.Phase = "", true, "TRAINING"
				}
				return o
			}
			p.ops = []ktrdr.Operation{
				op(root, ktrdr.AgentResearch, ktrdr.Running, progress(25, "", "")),
				op("op_agent_design_20261116_120000_0000000d", ktrdr.AgentDesign, ktrdr.Completed, progress(100, "", "")),
				op("op_training_20261116_120000_0000000e", ktrdr.Training, ktrdr.Running,
					progress(57, "epoch 17 of 30 "+evil, `{"loss":0.6931,"eta_seconds":12}`)),
			}
			event := func(n int64, kind ktrdr.EventKind, data string) ktrdr.Event {
				return ktrdr.Event{
					Cursor: ktrdr.Cursor{Tx: n, ID: n}, Operation: root, Kind: kind, Epoch: 1, At: at.Add(time.Duration(n) * time.Second),
					Data: json.RawMessage(data),
				}
			}
			p.events = []ktrdr.Event{
				event(1, ktrdr.EventClaimed, "{}"), event(2, ktrdr.EventPhase, `{"to":"TRAINING"}`),
				event(3, ktrdr.EventReleased, string(reasonOf("please "+evil))),
			}
			x := p.on(columns, 12, "follow", root)
			said := transcript{t: t}
			said.add("it trains", x.Shows("12s left", "phase TRAINING", "please"))
			x.Resize(60, 12)
			said.add("60 columns", x.Shows("12s left", "… "))
			x.Resize(columns, 12)
			x.Shows("agent_research 00000001")
			x.Type("letters") // which the terminal shows below the rows until they are redrawn
			labtest.Eventually(t, 30*time.Second, "the rows to be redrawn", func() bool {
				return strings.Contains(x.Raw(), "letters") && !strings.Contains(x.Text(), "letters")
			})
			x.Type(labtest.CtrlC)
			leaves(t, x, exitInterrupted)
			said.add("Ctrl-C", x.Text())
			said.compare(fmt.Sprintf("follow_operation_%d", columns))
		})
	}
}

// TestFollow_SurvivesARestartOnATerminal kills a real backend under a follower, and
// starts it again.
func TestFollow_SurvivesARestartOnATerminal(t *testing.T) {
	t.Parallel()
	addr := labtest.Address(t)
	l := newLab(t, "LANG=C.UTF-8", "KTRDR_AUTH=none")
	backend := l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "0")
	l.url = "http://" + addr
	id := l.start("--steps", "200", "--step-ms", "5", "--checkpoint-every", "5")
	x := labtest.OnTerminal(t, l.call("follow", id), 80, 24)
	x.Shows("PENDING")
	backend.Kill()
	x.Shows("The server is out of reach; waiting for it.")
	l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "1")
	x.Shows("The server answers again, after ", "RUNNING")
	if code := x.Ended(time.Minute); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.Text())
	}
	x.Shows("COMPLETED after ", "steps 200")
	if !x.Restored() {
		t.Error("the terminal is not as it was before")
	}
}

// TestResearch_FollowSurvivesARestartOnATerminal kills a real backend under `research
// --follow`, and starts it again.
func TestResearch_FollowSurvivesARestartOnATerminal(t *testing.T) {
	t.Parallel()
	addr := labtest.Address(t)
	l := newLab(t, "LANG=C.UTF-8", "KTRDR_AUTH=none")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7")
	backend := l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "0")
	l.url = "http://" + addr
	x := labtest.OnTerminal(t, l.call("research", "trend", "--symbol", "EURUSD", "--seed", "3", "--follow"), 80, 24)
	x.Shows("0 of 1 research ended", "  research 1 ", "    training ") // which waits for a worker
	backend.Kill()
	x.Shows("The server is out of reach; waiting for it.", "  research 1 ")
	l.begin(&struct{}{}, "serve", "--addr", addr, "--workers", "1")
	if code := x.Ended(time.Minute); code != 0 {
		t.Errorf("exit code %d\n%s", code, x.Text())
	}
	if said := strings.Join(x.History(), "\n"); !strings.Contains(said, "The server answers again, after ") ||
		!strings.Contains(said, "COMPLETED: 1 created, 1 ") {
		t.Errorf("the terminal shows\n%s", said)
	}
	if !x.Restored() {
		t.Error("the terminal is not as it was before")
	}
}
