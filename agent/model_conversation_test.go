package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr/llm"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
	"github.com/ktrdr/ktrdr/worker"
)

// A provider that asks for an hour whenever it is asked is waited for a day.
func TestModel_WaitsEnd(t *testing.T) {
	var s conversationState
	now := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	hours := 0
	for ; hours < 100; hours++ {
		err := s.wait(&resilience.WaitError{After: time.Hour, Err: errors.New("busy")}, now)
		if _, ended := errors.AsType[*noModelError](err); ended {
			break
		}
		text, err := json.Marshal(s) // as another backend would take it up
		if err != nil {
			t.Fatal(err)
		}
		s = conversationState{}
		if err := json.Unmarshal(text, &s); err != nil {
			t.Fatal(err)
		}
		now = now.Add(time.Hour)
	}
	if hours != 24 {
		t.Errorf("waited for %d hours, want 24", hours)
	}
}

// To be asked before its server wants to be is of no use, and the run ends without it.
func TestModel_AWaitThatWouldBeForNothingIsNotBegun(t *testing.T) {
	begun := time.Date(2026, 3, 1, 22, 0, 0, 0, time.UTC)
	for name, x := range map[string]struct {
		waited, after time.Duration
		waits         bool
	}{
		"all that is left":     {20 * time.Hour, 4 * time.Hour, true},
		"more than is left":    {20 * time.Hour, 4*time.Hour + 1, false},
		"more than there ever": {0, 30 * 24 * time.Hour, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := conversationState{Waiting: begun}
			err := s.wait(&resilience.WaitError{After: x.after, Err: errors.New("busy")}, begun.Add(x.waited))
			later, waits := errors.AsType[*worker.Later](err)
			if _, ended := errors.AsType[*noModelError](err); ended == x.waits || waits != x.waits || waits && later.After != x.after {
				t.Errorf("%v, want a wait: %v", err, x.waits)
			}
		})
	}
}

// echo answers every call with the same text.
type echo struct {
	text string
	err  error
}

func (echo) list() []llm.Tool                         { return nil }
func (e echo) use(llm.ToolCall) (string, bool, error) { return e.text, false, e.err }

func TestModel_ToolTextIsShortened(t *testing.T) {
	long := strings.Repeat("é", maxToolText) // two bytes each, and the bound is even
	for name, e := range map[string]echo{"a result": {text: "x" + long}, "an error": {err: errors.New("x" + long)}} {
		t.Run(name, func(t *testing.T) {
			k := &conversation{tools: e}
			if _, err := k.handleAnswer(llm.Answer{ToolCalls: []llm.ToolCall{{ID: "c", Name: "any", Input: []byte("{}")}}}); err != nil {
				t.Fatal(err)
			}
			said := k.state.Request.Messages[1].Parts[0].Result.Text
			if len(said) > maxToolText+len("…") || len(said) < maxToolText-4 || !utf8.ValidString(said) || !strings.HasSuffix(said, "é…") {
				t.Errorf("%d bytes that end in %q, want %d at whole letters", len(said), said[len(said)-8:], maxToolText)
			}
		})
	}
}

// A conversation is as long as what is sent: < has one byte there, and six in a web page.
func TestModel_ATalkIsMeasuredAsItIsSent(t *testing.T) {
	for name, x := range map[string]struct {
		text string
		ends bool
	}{
		"full of comparisons": {strings.Repeat("<", maxConversationBytes/2), false},
		"too long":            {strings.Repeat("x", maxConversationBytes), true},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := (&conversation{tools: echo{}}).handleAnswer(llm.Answer{Text: x.text})
			if _, ended := errors.AsType[*noModelError](err); ended != x.ends {
				t.Errorf("%v, want an end: %v", err, x.ends)
			}
		})
	}
}

func TestModel_ItsWordsAreBounded(t *testing.T) {
	words := func(n int) string { return strings.Repeat("w", n) }
	save := func(hypothesis, notes int) func() error {
		return func() error {
			input, _ := json.Marshal(map[string]string{"yaml": strategytest.Small(), "hypothesis": words(hypothesis), "notes": words(notes)})
			_, err := (&designTools{spec: research.DesignSpec{}}).save(input)
			return err
		}
	}
	say := func(change func(*modelOpinion)) func() error {
		return func() error {
			m := modelOpinion{Strengths: []string{words(500)}, Hypotheses: []research.Hypothesis{{Text: words(500), Rationale: words(500)}}}
			change(&m)
			input, _ := json.Marshal(m)
			_, _, err := (&opinionTools{}).use(llm.ToolCall{Name: opinionTool, Input: input})
			return err
		}
	}
	for name, c := range map[string]struct {
		try  func() error
		want string // a part of the complaint; "" for none about length
	}{
		"a whole hypothesis and notes": {save(500, 2000), ""},
		"a long hypothesis":            {save(501, 0), "hypothesis has 501 bytes: say it in at most 500"},
		"long notes":                   {save(1, 2001), "notes has 2001 bytes: say it in at most 2000"},
		"a whole opinion":              {say(func(*modelOpinion) {}), ""},
		"a long strength":              {say(func(m *modelOpinion) { m.Strengths[0] += "w" }), "an item has 501 bytes"},
		"a long weakness":              {say(func(m *modelOpinion) { m.Weaknesses = []string{words(501)} }), "an item has 501 bytes"},
		"a long suggestion":            {say(func(m *modelOpinion) { m.Suggestions = []string{words(501)} }), "an item has 501 bytes"},
		"a long idea":                  {say(func(m *modelOpinion) { m.Hypotheses[0].Text += "w" }), "the text of a hypothesis has 501 bytes"},
		"a long reason":                {say(func(m *modelOpinion) { m.Hypotheses[0].Rationale += "w" }), "its rationale has 501 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			got := fmt.Sprint(c.try())
			if c.want == "" && strings.Contains(got, "bytes") || !strings.Contains(got, c.want) {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}

func TestModel_IsToldTheBoundsOfItsWords(t *testing.T) {
	for _, tool := range (&designTools{}).list() {
		if text := string(tool.Schema); tool.Name == saveTool &&
			(!strings.Contains(text, fmt.Sprintf(`"maxLength":%d`, maxSentence)) ||
				!strings.Contains(text, fmt.Sprintf(`"maxLength":%d`, maxNotes))) {
			t.Errorf("schema %s does not name the bounds", text)
		}
	}
	if n := strings.Count(opinionSchema, fmt.Sprintf(`{"type":"string","maxLength":%d}`, maxSentence)); n != 5 {
		t.Errorf("the schema of an opinion names its bound %d times, want 5", n)
	}
}

// askedFor keeps until when it was to be answered.
type askedFor struct{ deadline time.Time }

func (a *askedFor) Call(_ context.Context, ask llm.CallContext, _ llm.Request) (llm.Answer, llm.Trace, error) {
	a.deadline = ask.Deadline
	return llm.Answer{}, llm.Trace{}, nil
}

func TestModel_EveryCallHasADeadline(t *testing.T) {
	var a askedFor
	start := time.Now()
	if _, _, err := Within(time.Hour, &a).Call(t.Context(), llm.CallContext{}, llm.Request{}); err != nil {
		t.Fatal(err)
	}
	if got := a.deadline.Sub(start); got < time.Hour || got > 2*time.Hour {
		t.Errorf("the deadline is in %v, want an hour", got)
	}
}
