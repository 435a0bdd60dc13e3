package assistant

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// csv is a made-up market as a file.
func csv(b *market.Bars) string {
	var text bytes.Buffer
	text.WriteString("timestamp,open,high,low,close,volume\n")
	for i := range b.Len() {
		x := b.At(i)
		fmt.Fprintf(&text, "%s,%v,%v,%v,%v,%v\n", time.Unix(x.Time, 0).UTC().Format(time.RFC3339), x.Open, x.High, x.Low, x.Close, x.Volume)
	}
	return text.String()
}

// A scripted assistant imports data, researches, waits while the backend is killed
// twice, reads the verdict and exports the report.
func TestAssistant_ResearchesThroughKills(t *testing.T) {
	onBoth(t, func(t *testing.T, l *labtest.Lab) {
		slow := "KTRDR_INJECT=delay=1h:training:mean reversion" // no research ends before the second kill
		backend := l.ServeWith(2, slow)
		a := overStdio(t, l)
		run := a.importsAndResearches()

		var waited sync.WaitGroup
		waited.Go(func() { a.waitFor(run) })
		for _, env := range [][]string{{slow}, nil} {
			labtest.Eventually(t, time.Minute, "a training", func() bool {
				trains := func(op ktrdr.Operation) bool { return op.Run == run && op.Phase == "TRAINING" }
				return l.Run(run).Open == 4 && slices.ContainsFunc(l.Roots(), trains)
			})
			backend.Kill()
			backend = l.ServeWith(2, env...)
		}
		waited.Wait()
		if r := l.Run(run); r.Completed+r.Rejected != 4 || r.Failed != 0 {
			t.Errorf("the run: %+v", r)
		}
		a.readsTheVerdict(run)
	})
}

// onBoth runs a test on both databases.
func onBoth(t *testing.T, test func(t *testing.T, l *labtest.Lab)) {
	t.Helper()
	t.Parallel()
	for _, kind := range []labtest.StoreKind{labtest.SQLite, labtest.Postgres} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(t, labtest.New(t, kind, labtest.Calm))
		})
	}
}

// importsAndResearches imports prices and starts a run of four researches.
func (a *assistant) importsAndResearches() (run string) {
	a.Helper()
	prices := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 3000, Seed: 1, Edge: 0.3})
	_, handles := a.use("import_prices", map[string]any{
		"content": csv(prices), "name": "EURUSD_1h.csv", "symbol": "EURUSD", "timeframe": "1h",
	})
	a.waitFor(handles[0])
	if said, _ := a.use("look", map[string]any{"at": "data"}); !strings.Contains(said, "<data>EURUSD</data> | 1h | 3000") {
		a.Errorf("the data: %s", said)
	}
	_, handles = a.use("research", map[string]any{"goal": "mean reversion on EURUSD 1h", "count": 4, "seed": 3})
	return handles[0]
}

// readsTheVerdict reads why the best research has its verdict, and exports the reports.
func (a *assistant) readsTheVerdict(run string) {
	a.Helper()
	said, _ := a.use("results", map[string]any{"handle": run})
	id := regexp.MustCompile(`op_agent_research_\w+`).FindString(said)
	if said, _ := a.use("explain", map[string]any{"research": id}); !strings.Contains(said, "test part | beats_luck") ||
		!strings.Contains(said, "Next: ") {
		a.Errorf("the verdict: %s", said)
	}
	for uri, part := range map[string]string{
		"ktrdr://runs/" + run + "/report.html":        "</html>",
		"ktrdr://operations/" + id + "/report.html":   "</html>",
		"ktrdr://operations/" + id + "/strategy.yaml": "nn_inputs:",
		"ktrdr://skill":   "What a result means",
		"ktrdr://grammar": "fuzzy_sets",
	} {
		if text := a.read(uri); !strings.Contains(text, part) {
			a.Errorf("%s has no %q: %.200s", uri, part, text)
		}
	}
}

// kills is how often the backend dies while the assistant designs.
func kills() int {
	if os.Getenv("KTRDR_SOAK") != "" {
		return 100
	}
	return 10
}

const designed = 50

// An assistant designs 50 researches while the backend is killed again and again, in the
// middle of its answers too. None is lost, none is done twice, all are in the ledger.
func TestAssistant_DesignsThroughKills(t *testing.T) {
	onBoth(t, func(t *testing.T, l *labtest.Lab) {
		serve := func() *labtest.Process { return l.ServeWith(2, "KTRDR_MAX_RESEARCHES="+strconv.Itoa(designed)) }
		backend := serve()
		l.Market("EURUSD", 1200, 1)
		a := overStdio(t, l)
		_, handles := a.use("research", map[string]any{"goal": "EURUSD 1h", "count": designed, "seed": 1, "designer": "assistant"})
		run := handles[0]

		given, killed := map[string]string{}, 0 // strategy by research
		for len(given) < designed {
			for _, d := range a.waiting() {
				strategy := fmt.Sprintf("idea_%02d", len(given))
				var said string
				var made []string
				var answered sync.WaitGroup
				answered.Go(func() { said, made, _ = a.try("design", designOf(d.design, strategy, len(given))) })
				for ; killed < (len(given)+1)*kills()/designed; killed++ { // while the strategy is on its way
					backend.Kill()
					backend = serve()
				}
				answered.Wait()
				if given[d.research] != "" || len(made) != 1 || made[0] != d.research {
					t.Fatalf("%s was asked for again, or answered with %s", d.research, said)
				}
				given[d.research] = strategy
			}
		}
		a.waitFor(run)
		if killed != kills() {
			t.Errorf("the backend was killed %d times, want %d", killed, kills())
		}
		if r := l.Run(run); r.Created != designed || r.Completed+r.Rejected != designed {
			t.Errorf("the run: %+v", r)
		}
		audit(t, l, run, given)
	})
}

// designOf gives a design its strategy, the nth.
func designOf(design, strategy string, n int) map[string]any {
	return map[string]any{
		"design": design, "hypothesis": "RSI works", "strategy": strategytest.Small(
			"name: small", "name: "+strategy, "epochs: 24", "epochs: 2", "[25, 15]", fmt.Sprintf("[%d, 15]", 20+n%10)),
	}
}

// audit compares the ledger of a run with the strategies that its researches were given.
func audit(t *testing.T, l *labtest.Lab, run string, given map[string]string) {
	t.Helper()
	ledger := l.Ledger(run)
	if len(ledger) != designed {
		t.Errorf("%d places are in the ledger, want %d", len(ledger), designed)
	}
	names := map[string]int{}
	for _, entry := range ledger {
		names[entry.Strategy]++
	}
	for id, strategy := range given {
		if names[strategy] != 1 {
			t.Errorf("%s of %s is %d times in the ledger", strategy, id, names[strategy])
		}
		l.AuditResearch(ktrdr.OperationID(id))
	}
}

// waitingDesign is one of the designs that an assistant is asked for.
type waitingDesign struct{ design, research string }

// waiting lists the designs. The answer may come from a backend that is just back.
func (a *assistant) waiting() (all []waitingDesign) {
	a.Helper()
	said, _ := a.use("design", map[string]any{})
	for _, m := range regexp.MustCompile(`(?m)^(op_agent_design_\w+) \| (op_agent_research_\w+)`).FindAllStringSubmatch(said, -1) {
		all = append(all, waitingDesign{m[1], m[2]})
	}
	return all
}

// A research that waits for an assistant occupies no agent: others pass it. When the
// assistant does not come, the built-in designer takes over, and the result says so.
func TestAssistant_ThatDoesNotComeIsReplaced(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	backend := l.ServeWith(2, "KTRDR_MAX_RESEARCHES=8")
	l.Market("EURUSD", 1500, 1)
	out, code := l.Command("research", "EURUSD 1h", "--count", "3", "--designer", "assistant", "--design-wait", "1h")
	if code != 0 {
		t.Fatal(out)
	}
	a := overStdio(t, l)
	labtest.Eventually(t, time.Minute, "three designs that wait", func() bool { return len(a.waiting()) == 3 })
	_, handles := a.use("research", map[string]any{"goal": "EURUSD 1h", "seed": 2})
	a.waitFor(handles[0]) // with two agents and three that wait
	if n := len(a.waiting()); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
	out, code = l.Command("research", "EURUSD 1h", "--designer", "assistant", "--design-wait", "2s", "--json")
	if code != 0 {
		t.Fatal(out)
	}
	id := regexp.MustCompile(`op_agent_research_\w+`).FindString(out)
	backend.Kill() // the deadline is a column
	l.ServeWith(2, "KTRDR_MAX_RESEARCHES=8")
	a.waitFor(id)
	if said, _ := a.use("results", map[string]any{"handle": id}); !strings.Contains(said, "instead of an assistant") {
		t.Errorf("the result does not say who designed: %s", said)
	}
	late := map[string]any{"design": strings.Replace(id, "research", "design", 1), "hypothesis": "late", "strategy": strategytest.Small()}
	if said, _, failed := a.try("design", late); !failed {
		t.Errorf("a strategy was taken after the deadline: %s", said)
	}
}
