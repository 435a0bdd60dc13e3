package top

import (
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/resilience"
)

// asks is a model whose reads are recorded.
type asks struct {
	model
	places []target
}

func start() *asks {
	a := &asks{}
	a.model = newModel("http://lab", false, true, func(_ int, at target) tea.Cmd {
		a.places = append(a.places, at)
		return nil
	})
	a.gets(tea.WindowSizeMsg{Width: 120, Height: 24})
	return a
}

// gets gives the model a message.
func (a *asks) gets(message tea.Msg) tea.Cmd {
	next, cmd := a.Update(message)
	a.model = next.(model) //nolint:forcetypeassert // there is no other model
	return cmd
}

// key presses keys, by their names.
func (a *asks) key(names ...string) (cmd tea.Cmd) {
	codes := map[string]rune{"enter": tea.KeyEnter, "esc": tea.KeyEscape, "down": tea.KeyDown, "up": tea.KeyUp, "backspace": tea.KeyBackspace}
	for _, name := range names {
		k := tea.KeyPressMsg{Text: name, Code: []rune(name)[0]}
		if code, ok := codes[name]; ok {
			k = tea.KeyPressMsg{Code: code}
		}
		cmd = a.gets(k)
	}
	return cmd
}

// answer answers the last read.
func (a *asks) answer(c content, err error) {
	c.read = true
	a.gets(loaded{asked: a.asked, at: time.Now(), content: c, summary: "ok", err: err})
}

func threeRuns() content {
	var list []ktrdr.Run
	for i, goal := range []string{"trend on EURUSD", "mean reversion", "breakout"} {
		list = append(list, ktrdr.Run{ID: fmt.Sprintf("run_%016d", i), Goal: goal, State: ktrdr.RunRunning})
	}
	return runsContent(list)
}

func (a *asks) screen() string { return strings.Join(a.lines(), "\n") }

func (a *asks) has(t *testing.T, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if !strings.Contains(a.screen(), text) {
			t.Errorf("no %q on\n%s", text, a.screen())
		}
	}
}

func (a *asks) last() target { return a.places[len(a.places)-1] }

func TestModel_OpensARowAndGoesBack(t *testing.T) {
	a := start()
	a.answer(threeRuns(), nil)
	a.has(t, "[1 runs]", "trend on EURUSD", "Enter open", "q quit")
	if strings.Contains(a.screen(), "Esc") {
		t.Errorf("Esc does nothing here:\n%s", a.screen())
	}
	a.key("down", "enter")
	if want := (target{oneRun, "run_0000000000000001"}); a.last() != want {
		t.Fatalf("opened %v, want %v", a.last(), want)
	}
	a.has(t, "runs > run 0000000000000001", "Reading", "Esc back")
	a.answer(operationsContent([]ktrdr.Operation{{ID: "op_agent_research_1_2_aaaa", Type: ktrdr.AgentResearch, Status: ktrdr.Running}}), nil)
	a.key("enter")
	if want := (target{oneOperation, "op_agent_research_1_2_aaaa"}); a.last() != want {
		t.Fatalf("opened %v, want %v", a.last(), want)
	}
	a.key("esc", "esc")
	if a.last().kind != runs {
		t.Errorf("Esc led to %v", a.last())
	}
	if r, ok := a.here().selected(); !ok || r.opens.id != "run_0000000000000001" {
		t.Errorf("the cursor is at %v, want where it was before", r)
	}
	if a.key("q") == nil {
		t.Error("q does not quit")
	}
}

func TestModel_FiltersRows(t *testing.T) {
	a := start()
	a.answer(threeRuns(), nil)
	a.key("/", "R", "E", "V")
	a.has(t, "filter: REV_", "mean reversion", "type to filter")
	if strings.Contains(a.screen(), "breakout") {
		t.Errorf("a row without the text of the filter is shown:\n%s", a.screen())
	}
	a.key("q") // a letter, while a filter is typed
	a.has(t, "filter: REVq_", "No row has the text of the filter.")
	a.key("backspace", "enter")
	a.has(t, "filter: REV (1 of 3)", "Esc clear filter")
	a.key("enter")
	if a.last().id != "run_0000000000000001" {
		t.Errorf("Enter opened %v, want the row that is shown", a.last())
	}
	a.key("esc", "esc")
	a.answer(threeRuns(), nil)
	a.has(t, "breakout")
}

func TestModel_SaysWhenTheServerIsAwayAndRecovers(t *testing.T) {
	a := start()
	a.answer(threeRuns(), nil)
	a.gets(tick(time.Now()))
	a.answer(content{}, ktrdr.Errorf(ktrdr.CodeUnavailable, "no answer"))
	a.has(t, "No answer from http://lab", "trying again", "trend on EURUSD")
	asked := a.asked
	a.gets(tick(time.Now()))
	if a.asked != asked+1 {
		t.Error("it does not try again")
	}
	a.gets(tick(time.Now()))
	if a.asked != asked+1 {
		t.Error("it asks again while it waits for an answer")
	}
	a.answer(threeRuns(), nil)
	if strings.Contains(a.screen(), "No answer") {
		t.Errorf("the server is there again:\n%s", a.screen())
	}
	a.gets(tick(time.Now()))
	a.answer(content{}, ktrdr.Errorf(ktrdr.CodeNotFound, "there is no such run"))
	a.has(t, "there is no such run")
}

func TestOperationsContent_ActiveFirstAndWhatAResearchCameTo(t *testing.T) {
	c := operationsContent([]ktrdr.Operation{
		{ID: "op_x_a", Status: ktrdr.Completed, Rung: ktrdr.RungRejected},
		{ID: "op_x_b", Status: ktrdr.Failed, ErrorMessage: "no bars"},
		{ID: "op_x_c", Status: ktrdr.Running, Phase: "TRAINING"},
	})
	for i, want := range [][2]string{{"op_x_c", "TRAINING"}, {"op_x_a", "gate rejected"}, {"op_x_b", "no bars"}} {
		if r := c.rows[i]; r.opens.id != want[0] || r.cells[len(r.cells)-1] != want[1] {
			t.Errorf("row %d is %v, want %v", i, r, want)
		}
	}
}

// An answer that comes after its place was left changes nothing.
func TestModel_DropsAnswersOfOtherPlaces(t *testing.T) {
	a := start()
	late := loaded{asked: a.asked, at: time.Now(), content: threeRuns(), summary: "old"}
	a.key("3")
	a.gets(late)
	if a.here().kind != workers || a.here().read {
		t.Errorf("%v was filled with the rows of another view", a.here().target)
	}
}

func TestModel_KeepsTheCursorAtItsRow(t *testing.T) {
	a := start()
	a.answer(threeRuns(), nil)
	a.key("down", "down")
	c := threeRuns()
	c.rows = append(c.rows[2:], c.rows[0])
	a.key("x")
	a.gets(tick(time.Now()))
	a.answer(c, nil)
	if r, _ := a.here().selected(); r.opens.id != "run_0000000000000002" {
		t.Errorf("the cursor moved to %v", r.opens)
	}
}

func TestModel_TheLogHasNewestFirstAndIsBounded(t *testing.T) {
	a := start()
	a.key("5")
	a.answer(content{}, nil)
	a.has(t, "No event yet.")
	for i := range mostEvents + 5 {
		a.gets(happened(ktrdr.Event{
			Operation: ktrdr.OperationID(fmt.Sprintf("op_dummy_%d", i)), Kind: ktrdr.EventCreated, At: time.Unix(int64(i), 0),
			Cursor: ktrdr.Cursor{ID: int64(i)},
		}))
	}
	if len(a.events) != mostEvents {
		t.Errorf("%d events are kept, want %d", len(a.events), mostEvents)
	}
	if r := a.here().shown()[0]; r.cells[1] != fmt.Sprint(mostEvents+4) {
		t.Errorf("the first row is %v, want the newest", r.cells)
	}
	for _, kind := range []string{"training", "agent_design"} { // of one research: their ids end alike
		a.gets(happened(ktrdr.Event{Operation: ktrdr.OperationID("op_" + kind + "_20261116_120000_0000aaaa"), Kind: ktrdr.EventCreated}))
		a.has(t, "  "+kind+" 0000aaaa")
	}
}

// The cursor is with the newest event until it is moved; then it stays at its event.
func TestModel_TheLogShowsTheNewestUntilTheCursorIsMoved(t *testing.T) {
	a := start()
	a.key("5")
	a.answer(content{}, nil)
	happen := func(n int) {
		a.gets(happened(ktrdr.Event{
			Operation: "op_dummy_1", Kind: ktrdr.EventCreated, At: time.Unix(int64(n), 0), Cursor: ktrdr.Cursor{ID: int64(n)},
		}))
	}
	for n := range 3 {
		happen(n)
	}
	a.has(t, "> "+time.Unix(2, 0).Format(time.TimeOnly))
	a.key("down")
	happen(3) // of the same operation
	a.has(t, "> "+time.Unix(1, 0).Format(time.TimeOnly))
}

// TestModel_EveryScreenFits draws anything on terminals of every size.
func TestModel_EveryScreenFits(t *testing.T) {
	texts := rapid.SampledFrom([]string{
		"", "plain", strings.Repeat("long ", 40), "日本語の戦略", "e\u0301e\u0301", "🚀🚀", "\x1b[2J\x1b]0;x\x07", "a\u202eb\u2066c", "line\nline\ttab",
	})
	rapid.Check(t, func(rt *rapid.T) {
		a := start()
		a.palette = term.Palette(rapid.Bool().Draw(rt, "colours"))
		var list []ktrdr.Run
		for i := range rapid.IntRange(0, 30).Draw(rt, "runs") {
			list = append(list, ktrdr.Run{ID: fmt.Sprintf("run_%d", i), Goal: texts.Draw(rt, "goal")})
		}
		c := runsContent(list)
		if rapid.Bool().Draw(rt, "breakers") {
			var b resilience.Status
			b.Name, b.Trip, b.By, b.Reason = texts.Draw(rt, "name"), texts.Draw(rt, "trip"), "x", texts.Draw(rt, "why")
			c = breakersContent([]resilience.Status{b})
		}
		a.answer(c, nil)
		a.summary, a.trouble = texts.Draw(rt, "summary"), texts.Draw(rt, "trouble")
		columns, rows := rapid.IntRange(1, 210).Draw(rt, "columns"), rapid.IntRange(1, 60).Draw(rt, "rows")
		a.gets(tea.WindowSizeMsg{Width: columns, Height: rows})
		for range rapid.IntRange(0, 5).Draw(rt, "moves") {
			a.key(rapid.SampledFrom([]string{"down", "up", "/", "a", "enter", "esc"}).Draw(rt, "key"))
		}
		lines := a.lines()
		if len(lines) != rows {
			rt.Fatalf("%d lines on a terminal of %d", len(lines), rows)
		}
		for _, line := range lines {
			if n := ansi.StringWidth(line); n > columns {
				rt.Fatalf("%d columns on a terminal of %d: %q", n, columns, line)
			}
			if bare := ansi.Strip(line); !ktrdr.PlainText(bare) || !bool(a.palette) && bare != line {
				rt.Fatalf("a text of others reached the terminal: %q", line)
			}
		}
	})
}
