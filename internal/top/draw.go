package top

import (
	"fmt"
	"slices"
	"strings"

	tea "charm.land/bubbletea/v2"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// View implements tea.Model.
func (m model) View() tea.View {
	v := tea.NewView(strings.Join(m.lines(), "\n"))
	v.AltScreen = true
	return v
}

// lines are the lines of the screen: as many as it has, none wider than it.
func (m model) lines() []string {
	p := m.here()
	lines := []string{m.headLine(), m.whereLine(), m.stateLine()}
	about := p.about
	if most := max(0, (m.rows-fewestLines)/2); len(about) > most {
		about = about[:most]
	}
	lines = append(lines, about...)
	room := max(1, m.rows-len(lines)-1)
	lines = append(lines, m.table(room)...)
	for len(lines) < m.rows-1 {
		lines = append(lines, "")
	}
	lines = append(lines[:max(0, m.rows-1)], m.keyLine())
	for i, line := range lines {
		lines[i] = text.Fit(line, m.columns)
	}
	return lines
}

// headLine says how the server is. Its end is cut off where the terminal is narrow.
func (m *model) headLine() string {
	parts := []string{m.palette.Paint("1", "ktrdr top"), term.Plain(m.summary), term.Plain(m.server)}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "  ")
}

// whereLine are the views, or the way to what was opened.
func (m *model) whereLine() string {
	var parts []string
	if len(m.stack) > 1 {
		for _, p := range m.stack {
			parts = append(parts, p.name())
		}
		for len(parts) > 2 && text.Width(strings.Join(parts, " > ")) > m.columns { // the end says where one is
			parts = append([]string{"…"}, parts[2:]...)
		}
		return strings.Join(parts, " > ")
	}
	for i, k := range views {
		name := fmt.Sprintf("%d %s", i+1, k)
		if k == m.here().kind {
			name = m.mark(name)
		}
		parts = append(parts, name)
	}
	return strings.Join(parts, "  ")
}

// mark marks what is chosen, with and without colours.
func (m *model) mark(s string) string {
	if !m.palette {
		return "[" + s + "]"
	}
	return m.palette.Paint("7", s)
}

// stateLine says what is wrong, or which filter is on.
func (m *model) stateLine() string {
	if said := m.awayText(); said != "" {
		return m.palette.Bad(said)
	}
	switch p := m.here(); {
	case m.typing:
		return "filter: " + p.filter + "_"
	case p.filter != "":
		return fmt.Sprintf("filter: %s (%d of %d)", p.filter, len(p.shown()), len(p.rows))
	}
	return ""
}

// table are the head and the rows around the cursor.
func (m *model) table(room int) []string {
	p := m.here()
	rows := p.shown()
	switch {
	case !p.read:
		return []string{"Reading …"}
	case len(rows) == 0 && p.filter != "" && len(p.rows) > 0:
		return []string{"No row has the text of the filter."}
	case len(rows) == 0:
		return []string{p.empty}
	}
	all := [][]string{p.head}
	for _, r := range rows {
		all = append(all, r.cells)
	}
	lines := term.LayOut(all, m.columns-1) // two columns are for the mark of the row
	for i := range lines {
		lines[i] = strings.TrimSuffix(lines[i], "\n")
	}
	var dropped []string
	if len(lines) > len(all) {
		dropped = lines[len(all):]
		room--
	}
	out := []string{"  " + m.palette.Paint("2", lines[0])}
	body := lines[1:len(all)]
	room = max(1, room-1)
	from := max(0, min(p.cursor-room/2, len(body)-room))
	for i := from; i < min(len(body), from+room); i++ {
		if i == p.cursor {
			out = append(out, "> "+m.chosen(body[i]))
			continue
		}
		out = append(out, "  "+body[i])
	}
	return append(out, dropped...)
}

func (m *model) chosen(line string) string { return m.palette.Paint("1", line) }

// keyLine names the keys that do something now.
func (m *model) keyLine() string {
	if m.typing {
		return "type to filter  Enter keep  Esc clear"
	}
	p := m.here()
	var keys []string
	if len(p.shown()) > 1 {
		move := "up/down move"
		if m.utf8 {
			move = "↑↓ move"
		}
		keys = append(keys, move)
	}
	if r, ok := p.selected(); ok && r.opens != (target{}) {
		keys = append(keys, "Enter open")
	}
	keys = append(keys, "/ filter")
	switch {
	case p.filter != "":
		keys = append(keys, "Esc clear filter")
	case len(m.stack) > 1:
		keys = append(keys, "Esc back")
	}
	return strings.Join(append(keys, "1-5 view", "q quit"), "  ")
}
