package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// quiet is a market in which there is nothing, quickly.
var quiet = market.SynthConfig{Symbol: "EURUSD", Bars: 1500, Seed: 3}

// talkative makes a lab whose models are a server's: first is asked first, in
// Anthropic's words, second after it, in OpenAI's.
func talkative(t *testing.T, first, second *llmtest.Server, change func(*llm.ChainConfig, *agent.ModelAccess)) *lab {
	t.Helper()
	price := &llm.Price{Input: 1, Output: 5}
	return newLab(t, quiet, func(l *lab) {
		l.models = []string{"first", "second"}
		l.wire = func(l *lab) {
			a, err := llm.NewAnthropic(llm.ClientConfig{BaseURL: first.Anthropic(), Key: "sk-first"})
			if err != nil {
				t.Fatal(err)
			}
			o, err := llm.NewOpenAI(llm.ClientConfig{BaseURL: second.OpenAI(), Key: "sk-second"})
			if err != nil {
				t.Fatal(err)
			}
			registry, err := resilience.NewRegistry(resilience.RegistryConfig{Enabled: true, Store: l.store})
			if err != nil {
				t.Fatal(err)
			}
			cfg := llm.ChainConfig{
				Models: []llm.ChainModel{
					{Name: "first", Provider: a, ID: "m1", Price: price, Tools: true},
					{Name: "second", Provider: o, ID: "m2", Price: price, Tools: true},
				},
				Registry: registry, Journal: l.store, Daily: 2_000_000, CallTimeout: 5 * time.Second,
				Retry: resilience.RetryPolicy{Retries: 1, First: time.Millisecond},
			}
			if change != nil {
				change(&cfg, &l.access)
			}
			chain, err := llm.NewModelFallbackChain(cfg)
			if err != nil {
				t.Fatal(err)
			}
			l.access.Models = chain
		}
	})
}

// uses is an answer that uses a tool.
func uses(tool string, input any) llmtest.Step {
	text, err := json.Marshal(input)
	if err != nil {
		panic(err) // maps of strings
	}
	return llmtest.Step{
		Tools: []llmtest.ToolCall{{ID: "c_" + tool, Name: tool, Input: string(text)}}, Usage: &llmtest.Usage{Input: 2000, Output: 500},
	}
}

// saves is an answer that saves a strategy that is valid.
func saves() llmtest.Step {
	return uses("save_strategy", map[string]string{"yaml": strategytest.Small(), "hypothesis": "Small is enough.", "notes": "Because."})
}

var opinionated = uses("give_opinion", map[string]any{
	"strengths": []string{"It is small."}, "weaknesses": []string{}, "suggestions": []string{"Try longer bars."},
	"hypotheses": []map[string]string{{"text": "Longer bars help.", "rationale": "Costs."}},
})

// part says which of the two talks a request belongs to.
func part(r llmtest.Request) string {
	if bytes.Contains(r.Body, []byte("give_opinion")) {
		return "assessment"
	}
	return "design"
}

// scripted answers designs with steps in their order, and assessments with an
// opinion. A conversation says where it stands: by the number of its messages.
func scripted(steps ...llmtest.Step) func(int, llmtest.Request) llmtest.Step {
	return func(_ int, r llmtest.Request) llmtest.Step {
		if part(r) == "assessment" {
			return opinionated
		}
		return steps[min(turns(r), len(steps)-1)]
	}
}

// turns is how many answers a request holds already.
func turns(r llmtest.Request) int { return bytes.Count(r.Body, []byte(`"role":"assistant"`)) }

var down = llmtest.Script(llmtest.Step{Status: 503})

// asked triggers one research and returns its design and assessment.
func (l *lab) asked() (research.Design, research.Assessment) {
	l.t.Helper()
	id := l.trigger(research.Request{Brief: "small", Model: "first", BypassGates: true, Seed: new(uint64(1))})[0]
	l.result(id)
	var d research.Design
	var a research.Assessment
	for _, c := range l.children(id) {
		var err error
		switch c.Type {
		case ktrdr.AgentDesign:
			err = json.Unmarshal(c.Result, &d)
		case ktrdr.AgentAssessment:
			err = json.Unmarshal(c.Result, &a)
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	return d, a
}

func TestModel_DesignsWithToolsAndCommentsOnTheVerdict(t *testing.T) {
	first := llmtest.New(t, scripted(
		uses("list_data", map[string]string{}), uses("list_indicators", map[string]string{}),
		uses("recall_experiments", map[string]int{"limit": 3}),
		uses("show_example", map[string]string{"name": "rsi_mean_reversion"}),
		uses("validate_strategy", map[string]string{"yaml": "name: nothing"}), saves(),
	))
	l := talkative(t, first, llmtest.New(t, down), nil)
	d, a := l.asked()
	if d.Designer != "first" || d.Prompt != "design.v2" || d.Hypothesis != "Small is enough." ||
		d.Strategy != strategytest.Small() || d.Instead != "" {
		t.Errorf("designed %+v", d)
	}
	if a.Assessor != "first" || a.Verdict == "" || len(a.Hypotheses) != 1 || a.Hypotheses[0].Text != "Longer bars help." {
		t.Errorf("assessed %+v", a)
	}
	spent, err := l.store.Spending(t.Context(), "")
	if err != nil || spent.Today != 7*(2000+5*500) || spent.Calls != 7 {
		t.Errorf("%+v, %v, want seven calls at what they cost", spent, err)
	}
	var told []string
	for _, r := range first.Requests() {
		told = append(told, string(r.Body))
	}
	for _, want := range []string{"EURUSD", "bollinger", "training_data", "indicators: it is missing"} {
		if !strings.Contains(strings.Join(told, "\n"), want) {
			t.Errorf("no tool told the model of %q", want)
		}
	}
}

func TestModel_WhereNoneAnswersTheProgramDesignsAndSaysSo(t *testing.T) {
	for name, x := range map[string]struct {
		first, second func(int, llmtest.Request) llmtest.Step
		change        func(*llm.ChainConfig, *agent.ModelAccess)
		why           string
		calls         int // to the first at most
	}{
		"every provider is down": {first: down, second: down, why: "no model can answer", calls: 4},
		"the model never ends": {
			first: scripted(uses("list_data", map[string]string{})), second: down, why: "came to no end within 16 turns", calls: 17,
		},
		"the model saves rubbish": {
			first: scripted(uses("save_strategy", map[string]string{"yaml": "x", "hypothesis": "y"})), second: down,
			why: "answers that were of no use", calls: 6,
		},
		"it uses a tool that there is not": {
			first: scripted(uses("open_file", map[string]string{"path": "/etc/passwd"})), second: down, why: "answers that were of no use", calls: 6,
		},
		"the model only talks": {
			first: scripted(llmtest.Step{Text: "I would buy low and sell high."}), second: down, why: "answers that were of no use", calls: 6,
		},
		"its words are an abyss": {
			first: llmtest.Script(llmtest.Step{
				Tools: []llmtest.ToolCall{{ID: "c", Name: "list_data", Input: `{"a":` + strings.Repeat("[", 9995) + strings.Repeat("]", 9995) + "}"}},
			}),
			second: down, why: "nested deeper than 64 levels", calls: 4,
		},
		"there is no money": {first: down, second: down, change: func(c *llm.ChainConfig, _ *agent.ModelAccess) { c.Daily = 10 }, why: "budget"},
		"it is shed": {first: down, second: down, change: func(_ *llm.ChainConfig, m *agent.ModelAccess) {
			m.Allows = func(f resilience.Feature) error { return fmt.Errorf("%s is shed", f) }
		}, why: "llm_design is shed"},
	} {
		t.Run(name, func(t *testing.T) {
			first := llmtest.New(t, x.first)
			l := talkative(t, first, llmtest.New(t, x.second), x.change)
			d, a := l.asked()
			if d.Designer != research.Builtin || !strings.Contains(d.Instead, x.why) || !strings.Contains(d.Summary, "instead of first") {
				t.Errorf("designed by %s, instead: %q, summary %q; want %q", d.Designer, d.Instead, d.Summary, x.why)
			}
			if n := len(first.Requests()); n > x.calls {
				t.Errorf("the first was called %d times, want at most %d", n, x.calls)
			}
			if a.Verdict == "" {
				t.Errorf("no verdict: %+v", a)
			}
		})
	}
}

// A backend may come back with other models than those that work was given out
// for.
func TestModel_OneThatIsGoneFailsNoResearch(t *testing.T) {
	up := llmtest.New(t, scripted(saves()))
	for name, x := range map[string]struct {
		models func([]llm.ChainModel) []llm.ChainModel
		by     string
		why    string // of the program's own design
	}{
		"another is left": {func(m []llm.ChainModel) []llm.ChainModel { return m[1:] }, "second", ""},
		"none is left": {
			func([]llm.ChainModel) []llm.ChainModel { return nil }, research.Builtin, "first: this backend has no model of that name any more",
		},
	} {
		t.Run(name, func(t *testing.T) {
			d, a := talkative(t, up, up, func(c *llm.ChainConfig, _ *agent.ModelAccess) { c.Models = x.models(c.Models) }).asked()
			if d.Designer != x.by || a.Assessor != x.by {
				t.Errorf("designed by %s and assessed by %s, want %s", d.Designer, a.Assessor, x.by)
			}
			if !strings.Contains(d.Instead, x.why) || !strings.Contains(a.Instead, x.why) {
				t.Errorf("instead: %q and %q, want %q", d.Instead, a.Instead, x.why)
			}
			for _, steps := range [][]llm.TraceStep{d.Decisions, a.Decisions} {
				if len(steps) == 0 || steps[0].Model != "first" || steps[0].Decision != llm.Skipped {
					t.Errorf("decisions %+v do not begin with the model that is gone", steps)
				}
			}
		})
	}
}

func TestModel_AnAnswerThatWasBoughtIsNotBoughtAgain(t *testing.T) {
	gate := make(chan struct{})
	held := make(chan struct{}, 1)
	lives := 1
	second := saves()
	first := llmtest.New(t, func(n int, r llmtest.Request) llmtest.Step {
		if part(r) == "assessment" {
			return opinionated
		}
		if turns(r) == 0 {
			return uses("list_data", map[string]string{})
		}
		if lives == 1 {
			held <- struct{}{}
			return llmtest.Step{Wait: gate, Fault: llmtest.Silence}
		}
		return second
	})
	l := talkative(t, first, llmtest.New(t, down), nil)
	id := l.trigger(research.Request{Model: "first", BypassGates: true, Seed: new(uint64(1))})[0]
	<-held // the first answer is in the journal, the second call in flight
	l.stop()
	lives = 2
	close(gate)
	l.open()
	l.result(id)
	times := map[string]int{}
	for _, r := range first.Requests() {
		times[fmt.Sprint(part(r), turns(r))]++
	}
	if times["design0"] != 1 || times["design1"] != 2 {
		t.Errorf("calls by turn %v, want the first bought once and the one in flight repeated once", times)
	}
	calls, err := l.store.Calls(t.Context(), id, 0)
	if err != nil {
		t.Fatal(err)
	}
	answered := map[ktrdr.Hash]int{}
	for _, c := range calls {
		if c.Status == ktrdr.CallAnswered {
			answered[c.Key]++
		}
		if answered[c.Key] > 1 {
			t.Errorf("two answers to %s were bought", c.Key)
		}
	}
}

func TestModel_ALongWaitIsNotSlept(t *testing.T) {
	first := llmtest.New(t, llmtest.Script(llmtest.Step{Status: 429, Header: map[string]string{"Retry-After": "3600"}}))
	logged := make(lines, 1)
	l := talkative(t, first, llmtest.New(t, down), func(c *llm.ChainConfig, m *agent.ModelAccess) {
		c.Models = c.Models[:1]
		m.Wait, m.Log = true, slog.New(slog.NewTextHandler(logged, nil))
	})
	id := l.trigger(research.Request{Model: "first", Seed: new(uint64(1))})[0]
	var design ktrdr.OperationID
	l.await(id, func(ktrdr.Operation) bool {
		for _, c := range l.children(id) {
			if c.Status == ktrdr.Pending && !c.NotBefore.IsZero() {
				design = c.ID
				wait := time.Until(c.NotBefore)
				return wait > 50*time.Minute && wait < 70*time.Minute
			}
		}
		return false
	})
	saved, err := l.store.Checkpoint(t.Context(), design, "")
	if err != nil || !bytes.Contains(saved.State, []byte(`"waiting"`)) {
		t.Errorf("%v; the checkpoint does not say since when it waits: %.300s", err, saved.State)
	}
	if line := <-logged; !strings.Contains(line, "operation waits for a model") || !strings.Contains(line, string(design)) ||
		!strings.Contains(line, "429") {
		t.Errorf("logged %q, want who waits, and why", line)
	}
}

// By default a research does not wait: the built-in designer takes over.
func TestModel_ALongWaitFallsBackUnlessWaitingIsAsked(t *testing.T) {
	first := llmtest.New(t, llmtest.Script(llmtest.Step{Status: 429, Header: map[string]string{"Retry-After": "3600"}}))
	l := talkative(t, first, llmtest.New(t, down), func(c *llm.ChainConfig, _ *agent.ModelAccess) { c.Models = c.Models[:1] })
	id := l.trigger(research.Request{Model: "first", Seed: new(uint64(1))})[0]
	l.await(id, func(ktrdr.Operation) bool {
		for _, c := range l.children(id) {
			if c.Type == ktrdr.AgentDesign && !c.NotBefore.IsZero() {
				t.Fatalf("the design waits until %v", c.NotBefore)
			}
			if c.Type == ktrdr.AgentDesign && c.Status == ktrdr.Completed {
				return true
			}
		}
		return false
	})
}

// lines is a log that is read line by line.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

// storeless is a chain whose journal cannot be reached.
type storeless struct{}

func (storeless) Call(context.Context, llm.CallContext, llm.Request) (llm.Answer, llm.Trace, error) {
	return llm.Answer{}, llm.Trace{}, fmt.Errorf("journal of calls: %w", ktrdr.Errorf(ktrdr.CodeUnavailable, "the database is away"))
}

func TestModel_AStoreThatIsAwayFailsNoDesign(t *testing.T) {
	l := newLab(t, quiet, func(l *lab) {
		l.models = []string{"first"}
		l.access.Models = storeless{}
	})
	id := l.trigger(research.Request{Model: "first", Seed: new(uint64(1))})[0]
	l.await(id, func(op ktrdr.Operation) bool {
		for _, c := range l.children(id) {
			if c.Status == ktrdr.Failed {
				t.Fatalf("the design failed: %s", c.ErrorMessage)
			}
			if c.Status == ktrdr.Pending && !c.NotBefore.IsZero() {
				wait := time.Until(c.NotBefore)
				return wait > 10*time.Second && wait <= 31*time.Second
			}
		}
		return false
	})
}
