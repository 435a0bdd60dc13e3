package agent_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/llm/llmtest"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
)

// hostile are texts that would do something if anybody ran, opened or fetched
// what they say: touch a file, or call a server.
func hostile(proof, url string) []string {
	return []string{
		`__import__('os').system('touch ` + proof + `')`,
		"$(touch " + proof + ")",
		"`touch " + proof + "`; touch " + proof,
		`!!python/object/apply:os.system ["touch ` + proof + `"]`,
		`{{ exec "touch" "` + proof + `" }}`,
		"include: " + url + "/strategy.yaml",
		"name: x\nstrategy_path: " + proof + "\nbase: !include " + url + "\n",
	}
}

func TestModel_OutputIsNeverExecutedOpenedOrFetched(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "it-ran")
	var fetched atomic.Int64
	lure := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { fetched.Add(1) }))
	defer lure.Close()
	for _, text := range hostile(proof, lure.URL) {
		said := []llmtest.Step{
			uses("validate_strategy", map[string]string{"yaml": text}),
			uses("show_example", map[string]string{"name": text}),
			uses("save_strategy", map[string]string{"yaml": text, "hypothesis": text, "notes": text}),
			uses("save_strategy", map[string]string{"yaml": strategytest.Small(), "hypothesis": text, "path": proof, "url": lure.URL}),
			uses("save_strategy", map[string]string{"yaml": strategytest.Small(), "hypothesis": text, "notes": text}),
		}
		first := llmtest.New(t, scripted(said...))
		d, _ := talkative(t, first, llmtest.New(t, down), nil).asked()
		if d.Designer != "first" || d.Hypothesis != text {
			t.Errorf("designed by %s, instead: %q, to test %q; want what it saved in the end, letter for letter", d.Designer,
				d.Instead, d.Hypothesis)
		}
		if n := len(first.Requests()); n < len(said) {
			t.Errorf("%d calls: not everything was said", n)
		}
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a model said was run or written (%v)", err)
	}
	if n := fetched.Load(); n != 0 {
		t.Errorf("%d addresses that a model named were fetched", n)
	}
}

// An input that is no JSON object is not read in some other way.
func TestModel_AnInputThatIsNoObjectIsNotGuessedAt(t *testing.T) {
	proof := filepath.Join(t.TempDir(), "it-ran")
	for _, input := range []string{`__import__('os').system('touch ` + proof + `')`, `"{}"`, `{'yaml': 'x'}`} {
		first := llmtest.New(t, scripted(llmtest.Step{Tools: []llmtest.ToolCall{{ID: "c", Name: "save_strategy", Input: input}}}))
		d, _ := talkative(t, first, llmtest.New(t, down), nil).asked()
		if d.Designer != research.Builtin || !strings.Contains(d.Instead, "garbage") {
			t.Errorf("after %s it is designed by %s, instead: %q", input, d.Designer, d.Instead)
		}
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what a model said was run (%v)", err)
	}
}

func TestModel_TheOneThatWasChosenIsAskedFirst(t *testing.T) {
	first, second := llmtest.New(t, scripted(saves())), llmtest.New(t, scripted(saves()))
	l := talkative(t, first, second, nil)
	l.result(l.trigger(research.Request{Brief: "small", Model: "second", BypassGates: true, Seed: new(uint64(1))})[0])
	if len(first.Requests()) != 0 || len(second.Requests()) == 0 {
		t.Errorf("%d calls of the first and %d of the chosen one", len(first.Requests()), len(second.Requests()))
	}
}

// A model that repeats a tool call still makes progress.
func TestModel_TheSameToolAgainIsNoStandstill(t *testing.T) {
	again := uses("recall_experiments", map[string]int{"limit": 3})
	first := llmtest.New(t, scripted(again, again, again, again, again, again, saves()))
	if d, _ := talkative(t, first, llmtest.New(t, down), nil).asked(); d.Designer != "first" {
		t.Errorf("designed by %s, instead: %q", d.Designer, d.Instead)
	}
}

// What went wrong with a call is no reasoning: the next model is told what was
// said, and nothing of the outage.
func TestModel_AnErrorIsNeverSaidToAModel(t *testing.T) {
	const complaint = "the machine room is flooded"
	first := llmtest.New(t, func(_ int, r llmtest.Request) llmtest.Step {
		if turns(r) == 0 {
			return uses("list_data", map[string]string{})
		}
		return llmtest.Step{Status: 503, Body: `{"type":"error","error":{"type":"api_error","message":"` + complaint + `"}}`}
	})
	look := uses("list_data", map[string]string{})
	second := llmtest.New(t, scripted(look, look, saves())) // continues with the second turn
	d, _ := talkative(t, first, second, nil).asked()
	if d.Designer != "second" {
		t.Errorf("designed by %s, instead: %q", d.Designer, d.Instead)
	}
	told := second.Requests()
	if len(told) == 0 {
		t.Fatal("the second was not asked")
	}
	for _, r := range append(told, first.Requests()...) {
		if strings.Contains(string(r.Body), complaint) || strings.Contains(string(r.Body), "503") {
			t.Errorf("a message to a model holds an error: %s", r.Body)
		}
	}
	failed := 0
	for _, step := range d.Decisions {
		if step.Decision == llm.Failed && step.Kind == resilience.KindOverloaded {
			failed++
		}
	}
	if failed == 0 {
		t.Errorf("no decision names the error: %+v", d.Decisions)
	}
}
