package top

import (
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// kind says what a place lists.
type kind string

// The five views, and what a row of them opens.
const (
	runs       kind = "runs"
	researches kind = "researches"
	workers    kind = "workers"
	breakers   kind = "breakers"
	logs       kind = "log"

	oneRun       kind = "run"
	oneOperation kind = "operation"
	oneWorker    kind = "worker"
	oneBreaker   kind = "breaker"
)

var views = []kind{runs, researches, workers, breakers, logs}

// target is what Enter opens; the zero value is nothing.
type target struct {
	kind kind
	id   string
}

// name is the target in the line that says where one is.
func (t target) name() string {
	if t.id == "" {
		return string(t.kind)
	}
	id := t.id
	if t.kind == oneOperation || t.kind == oneRun {
		id = id[strings.LastIndexByte(id, '_')+1:]
	}
	return string(t.kind) + " " + text.Fit(term.Plain(id), 24)
}

// place is what is shown, and where the cursor is in it.
type place struct {
	target
	cursor int
	key    key // of the row at the cursor, which stays there when rows move
	filter string
	content
}

// content is what was read for a place.
type content struct {
	about []string // lines above the table
	head  []string
	rows  []row
	empty string // said where there are no rows
	read  bool
}

type row struct {
	key
	cells []string
}

// key tells a row from others: by what it opens, and by when where several open the same.
type key struct {
	opens target
	at    string
}

// rowOf makes a row of texts that others may have written.
func rowOf(opens target, cells ...string) row {
	return row{key{opens: opens}, text.Map(cells, term.Plain)}
}

// shown are the rows that the filter lets through.
func (p *place) shown() []row {
	if p.filter == "" {
		return p.rows
	}
	wanted := strings.ToLower(p.filter)
	return slices.DeleteFunc(slices.Clone(p.rows), func(r row) bool {
		return !strings.Contains(strings.ToLower(strings.Join(r.cells, " ")), wanted)
	})
}

// selected is the row at the cursor.
func (p *place) selected() (row, bool) {
	rows := p.shown()
	if p.cursor < 0 || p.cursor >= len(rows) {
		return row{}, false
	}
	return rows[p.cursor], true
}

// move sets the cursor, and remembers which row is there.
func (p *place) move(to int) {
	p.cursor = max(0, min(to, len(p.shown())-1))
	p.key = key{}
	if r, ok := p.selected(); ok {
		p.key = r.key
	}
}

// fill replaces the content. The cursor stays at its row as long as that is there; at the
// newest row of the log it stays with the newest.
func (p *place) fill(c content) {
	p.content = c
	if p.key != (key{}) && (p.kind != logs || p.cursor > 0) {
		if i := slices.IndexFunc(p.shown(), func(r row) bool { return r.key == p.key }); i >= 0 {
			p.cursor = i
			return
		}
	}
	p.move(p.cursor)
}
