package top

import (
	"slices"
	"strconv"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/view"
)

const (
	pace        = time.Second // between two reads
	mostEvents  = 1000        // of the log
	pastEvents  = 200         // of the log, from before top was started
	fewestLines = 8           // a terminal that is lower shows less of the details
)

// model is what top shows. Update makes the next one of a message; View draws it.
type model struct {
	palette       term.Palette
	utf8          bool
	columns, rows int
	server        string

	stack  []place // where one is: the last is shown
	typing bool    // a filter is typed
	events []ktrdr.Event

	summary string    // of the server
	now     time.Time // of the last answer or tick
	away    time.Time // since when the server is out of reach
	trouble string    // why the last read failed, where the server answered
	asked   int       // reads so far: only the answer to the last one counts
	waits   bool      // for an answer

	interrupted bool
	read        func(asked int, at target) tea.Cmd
}

// newModel shows the runs of a server.
func newModel(server string, p term.Palette, utf8 bool, read func(int, target) tea.Cmd) model {
	return model{
		server: server, palette: p, utf8: utf8, columns: 80, rows: 24, read: read, stack: []place{{target: target{kind: runs}}},
	}
}

// The messages, besides keys and the size of the terminal.
type (
	tick   time.Time
	loaded struct {
		asked   int
		at      time.Time
		content content
		summary string
		err     error
	}
	happened ktrdr.Event
)

// Init implements tea.Model.
func (m model) Init() tea.Cmd { return tea.Batch(m.read(m.asked, m.here().target), nextTick()) }

func nextTick() tea.Cmd { return tea.Tick(pace, func(at time.Time) tea.Msg { return tick(at) }) }

// here is the place that is shown.
func (m *model) here() *place { return &m.stack[len(m.stack)-1] }

// Update implements tea.Model.
func (m model) Update(message tea.Msg) (tea.Model, tea.Cmd) {
	m.stack = slices.Clone(m.stack) // the model before stays as it is
	switch x := message.(type) {
	case tea.WindowSizeMsg:
		m.columns, m.rows = x.Width, x.Height
	case tea.KeyPressMsg:
		return m.press(x)
	case tick:
		m.now = time.Time(x)
		if m.waits {
			return m, nextTick()
		}
		next, ask := m.ask()
		return next, tea.Batch(ask, nextTick())
	case loaded:
		m.take(x)
	case happened:
		m.events = append(m.events[max(0, len(m.events)-mostEvents+1):len(m.events):len(m.events)], ktrdr.Event(x))
		if m.here().kind == logs {
			m.here().fill(logContent(m.events))
		}
	}
	return m, nil
}

// ask reads the place that is shown.
func (m model) ask() (model, tea.Cmd) {
	m.asked++
	m.waits = true
	return m, m.read(m.asked, m.here().target)
}

// take takes an answer. One that was not asked for last is of another place.
func (m *model) take(x loaded) {
	if x.asked != m.asked {
		return
	}
	m.waits, m.now = false, x.at
	switch {
	case ktrdr.CodeOf(x.err) == ktrdr.CodeUnavailable && x.err != nil:
		if m.away.IsZero() {
			m.away = x.at
		}
	case x.err != nil:
		m.away, m.trouble = time.Time{}, x.err.Error()
	default:
		m.away, m.trouble, m.summary = time.Time{}, "", x.summary
		if m.here().kind == logs {
			x.content = logContent(m.events)
		}
		m.here().fill(x.content)
	}
}

func logContent(events []ktrdr.Event) content {
	c := content{read: true, head: []string{"TIME", "OPERATION", "EVENT"}, empty: "No event yet."}
	for _, e := range slices.Backward(events) {
		opens := target{}
		if e.Operation != "" {
			opens = target{oneOperation, string(e.Operation)}
		}
		at, story, _ := cutTime(view.Timed(e))
		r := rowOf(opens, at, term.Dash(nameOf(e.Operation)), story)
		r.at = e.Cursor.String()
		c.rows = append(c.rows, r)
	}
	return c
}

// nameOf names an operation by its type and the end of its id: operations of one
// research may share that end.
func nameOf(id ktrdr.OperationID) string {
	parts := strings.Split(string(id), "_")
	if len(parts) < 5 { // op, type, date, time, tail
		return id.Tail()
	}
	return strings.Join(parts[1:len(parts)-3], "_") + " " + id.Tail()
}

// cutTime divides the time from what happened.
func cutTime(line string) (at, story string, ok bool) {
	if len(line) < len(time.TimeOnly)+2 {
		return "", line, false
	}
	return line[:len(time.TimeOnly)], line[len(time.TimeOnly)+2:], true
}

func (m model) press(key tea.KeyPressMsg) (tea.Model, tea.Cmd) {
	name := key.String()
	if name == "ctrl+c" {
		m.interrupted = true
		return m, tea.Quit
	}
	if m.typing {
		return m.typed(name, key.Text), nil
	}
	p := m.here()
	switch name {
	case "q":
		return m, tea.Quit
	case "up", "k":
		p.move(p.cursor - 1)
	case "down", "j":
		p.move(p.cursor + 1)
	case "pgup":
		p.move(p.cursor - m.rows/2)
	case "pgdown", "space":
		p.move(p.cursor + m.rows/2)
	case "home", "g":
		p.move(0)
	case "end", "G":
		p.move(len(p.shown()) - 1)
	case "/":
		m.typing = true
	case "tab", "right":
		return m.show(m.view() + 1)
	case "shift+tab", "left":
		return m.show(m.view() - 1)
	case "esc", "backspace":
		return m.back()
	case "enter":
		if r, ok := p.selected(); ok && r.opens != (target{}) {
			m.stack = append(m.stack, place{target: r.opens})
			return m.ask()
		}
	default:
		if n, err := strconv.Atoi(name); err == nil && n >= 1 && n <= len(views) {
			return m.show(n - 1)
		}
	}
	return m, nil
}

// typed changes the filter.
func (m model) typed(key, letters string) model {
	p := m.here()
	switch key {
	case "enter":
		m.typing = false
	case "esc":
		m.typing, p.filter = false, ""
	case "backspace":
		if all := []rune(p.filter); len(all) > 0 {
			p.filter = string(all[:len(all)-1])
		}
	default:
		p.filter += term.Plain(letters)
	}
	p.move(p.cursor)
	return m
}

// view is the number of the view that is shown, or that was before.
func (m *model) view() int { return slices.Index(views, m.stack[0].kind) }

// show changes to another view.
func (m model) show(n int) (tea.Model, tea.Cmd) {
	n = (n + len(views)) % len(views)
	m.stack = []place{{target: target{kind: views[n]}}}
	return m.ask()
}

// back removes the filter, or leaves what was opened.
func (m model) back() (tea.Model, tea.Cmd) {
	switch p := m.here(); {
	case p.filter != "":
		p.filter = ""
		p.move(p.cursor)
	case len(m.stack) > 1:
		m.stack = m.stack[:len(m.stack)-1]
		return m.ask()
	}
	return m, nil
}

// awayText says that the server is out of reach.
func (m *model) awayText() string {
	switch {
	case !m.away.IsZero():
		return "No answer from " + m.server + " for " + term.Brief(m.now.Sub(m.away).Round(time.Second)) + "; trying again."
	case m.trouble != "":
		return text.Fit(term.Plain(m.trouble), m.columns)
	}
	return ""
}
