package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

func TestCLI_ResearchesAGoalToItsVerdict(t *testing.T) {
	t.Parallel()
	heard := make(chan backend.RunEnded, 4)
	refusals := 1 // the first delivery is refused, so that it has to be tried again
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e backend.RunEnded
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &e); err != nil {
			t.Errorf("the webhook got %q: %v", body, err)
		}
		if refusals > 0 {
			refusals--
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		heard <- e
	}))
	defer hook.Close()
	l := newLab(t, "KTRDR_WEBHOOK="+hook.URL)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "4000", "--seed", "7")
	l.serve("--workers", "1")

	l.refused(exitUsage, "there is no strategy \"nosuch\"", "research", "--strategy", "nosuch")
	l.refused(exitUsage, "no 1h bars of GBPUSD", "research", "--symbol", "GBPUSD")
	l.refused(exitUsage, "there is no model \"oracle\"; there is builtin. builtin needs no key; others are set where the backend runs, "+
		"as KTRDR_MODELS=", "research", "--model", "oracle")
	l.refused(exitUsage, "--count must be", "research", "--count", "-1")
	l.refused(exitUsage, "--count must be", "research", "--count", "0")
	l.refused(exitUsage, "--count must be 1 to 10000, not 100000", "research", "--count", "100000")
	l.refused(exitUsage, "--count must be 1 to 64, not 65", "research", "--count", "65", "--until", "07:00")
	l.refused(exitUsage, "the goal names TSLA", "research", "trade TSLA on 5m bars")
	l.refused(exitUsage, "such as 07:00", "research", "--until", "tomorrow")
	if out := l.must("memory"); !strings.Contains(out, "No experiments yet") {
		t.Errorf("memory before there is any:\n%s", out)
	}

	said := l.must("research", "trend on EURUSD 1h", "--seed", "3", "--bypass-gates", "--follow")
	for _, part := range []string{"COMPLETED", "RESULT", "claim"} {
		if !strings.Contains(said, part) {
			t.Errorf("a followed research does not tell %q:\n%s", part, said)
		}
	}
	ops := l.ops("--type", "agent_research")
	if len(ops) != 1 || ops[0].Status != ktrdr.Completed || ops[0].Session != 1 {
		t.Fatalf("researches %+v, want the one that completed: what was refused created nothing", ops)
	}
	l.remembers(ops[0])
	l.scraped(`ktrdr_research_total{outcome="completed"} 1`)
	l.scraped(`ktrdr_research_total{outcome="failed"} 0`)

	select {
	case e := <-heard:
		if e.Event != "run_ended" || e.Run != ops[0].Queue.Run || e.Researches != 1 || e.Outcomes["completed"] != 1 {
			t.Errorf("the webhook heard %+v", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("the webhook did not hear of the end")
	}
}

// remembers checks that status, memory and leaderboard name a research.
func (l *lab) remembers(op ktrdr.Operation) {
	l.t.Helper()
	var result research.Result
	if err := json.Unmarshal(op.Result, &result); err != nil {
		l.t.Fatal(err)
	}
	st := decode[serverStatus](l.t, l.must("status", "--json"))
	if last := st.Research.Last; last == nil || last.Operation != op.ID || last.Verdict != string(result.Verdict) ||
		st.Research.Workers["agents"].Total != 2 {
		l.t.Errorf("status tells %+v, want %s and two agents", st.Research, op.ID)
	}
	for _, args := range [][]string{{"status"}, {"memory"}, {"memory", "list"}, {"memory", "trials"}, {"leaderboard"}} {
		if out := l.must(args...); !strings.Contains(out, op.ID.Tail()) {
			l.t.Errorf("ktrdr %s does not name %s:\n%s", strings.Join(args, " "), op.ID, out)
		}
	}
	if out := l.must("memory", "hypotheses"); !strings.Contains(out, op.Queue.Run+"/0/0") {
		l.t.Errorf("no hypothesis is from %s:\n%s", op.Queue.Run, out)
	}
	if out := l.must("memory", "show", string(op.ID)); !strings.Contains(out, result.StrategyName) || !strings.Contains(out, "indicators:") {
		l.t.Errorf("memory show does not show the strategy:\n%s", out)
	}
	page := decode[memoryPage](l.t, l.must("memory", "trials", "--json"))
	if len(page.Trials) != 1 || page.Counts["trials"] != 1 || page.Counts["experiments"] != 1 {
		l.t.Errorf("memory %+v, want one trial of one experiment", page)
	}
}

func TestCLI_ResearchesQueueAndAreCancelledAlone(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_MAX_RESEARCHES=1")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0") // without agents they stay in their phase
	made := decode[research.Triggered](t, l.must("research", "--count", "3", "--key", "night", "--json"))
	same := decode[research.Triggered](t, l.must("research", "--count", "3", "--key", "night", "--json"))
	if len(made.Operations) != 3 || same.Operation != made.Operation || same.Run != made.Run {
		t.Errorf("under the same key %+v, then %+v", made, same)
	}
	l.refused(exitFailed, "force it to be accepted and to wait for its turn: --force does that", "research")
	for _, list := range [][]string{{"leaderboard"}, {"memory"}, {"memory", "hypotheses"}} {
		l.refused(exitUsage, `there is no run "run_nowhere"`, append(list, "--run", "run_nowhere")...)
		if out := l.must(append(list, "--run", made.Run)...); !strings.Contains(out, " of "+made.Run+" yet") {
			t.Errorf("%v of a run of which nothing has ended:\n%s", list, out)
		}
	}
	if out := l.must("memory", "trials", "--run", made.Run); strings.Count(out, "not ended") != 3 {
		t.Errorf("the trials of a run of which nothing has ended:\n%s", out)
	}
	st := decode[serverStatus](t, l.run("status", "--json").out).Research // it is degraded: there is no worker
	if len(st.Active) != 3 || st.Capacity != (ktrdr.QueueHealth{Limit: 1, Active: 1, Waiting: 2}) || st.Phase != research.Designing {
		t.Errorf("status %+v, want one designing and two waiting", st)
	}
	l.must("cancel", string(made.Operations[1].Operation))
	st = decode[serverStatus](t, l.run("status", "--json").out).Research // it is degraded: there is no worker
	if len(st.Active) != 2 || st.Last == nil || st.Last.Operation != made.Operations[1].Operation ||
		st.Last.Outcome != research.OutcomeCancelled {
		t.Errorf("status after the cancel %+v, want the two others", st)
	}
}

func TestDemo_ResearchesAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	tmp := t.TempDir()
	l.env = append(l.env, "TMPDIR="+tmp)
	a := l.run("demo", "--researches", "2")
	if a.code != exitOK || !strings.Contains(a.out, "2 created, 2 completed") || !strings.Contains(a.out, "RESULT") {
		t.Fatalf("demo: %v", a)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	l.refused(exitUsage, "--researches must be", "demo", "--researches", "0")
	l.refused(exitUsage, "--kill has no researches", "demo", "--kill", "--seed", "2")
}

// scraped waits until /metrics has a line.
func (l *lab) scraped(line string) {
	l.t.Helper()
	token, err := backend.ReadToken(filepath.Join(l.data, backend.TokenFile))
	if err != nil {
		l.t.Fatal(err)
	}
	labtest.Eventually(l.t, 30*time.Second, "the line "+line+" of /metrics", func() bool {
		req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.url+"/metrics", nil)
		if err != nil {
			l.t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token.Reveal())
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			l.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		return err == nil && strings.Contains("\n"+string(text), "\n"+line+"\n")
	})
}

func TestServe_PinsItsSettingsInEveryResearch(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_COSTS=eurusd=2/1/2", "KTRDR_HOLDOUT=0.3", "KTRDR_GENERATION=2")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0")
	made := decode[research.Triggered](t, l.must("research", "--count", "3", "--json"))
	spec := decode[research.Spec](t, string(l.op(string(made.Operations[2].Operation)).Spec))
	if got := spec.Costs; got.Commission != 0.0002 || got.Slippage != 0.0001 || got.Spread != 0.0002 {
		t.Errorf("the costs are %+v, want those of the setting", got)
	}
	if spec.Size != 2 || spec.Generation != 1 || spec.Index != 0 {
		t.Errorf("the third is %+v of generations of %d, want the first of the second of two", spec.RunPosition, spec.Size)
	}
	if share := float64(spec.Holdout[0].Size) / float64(spec.Holdout[0].Size+spec.Bars[0].Size); share < 0.29 || share > 0.31 {
		t.Errorf("%.3f of the bars are held out, want 0.3", share)
	}
}
