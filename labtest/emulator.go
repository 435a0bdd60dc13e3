package labtest

import (
	"slices"
	"strconv"
	"strings"

	"github.com/mattn/go-runewidth"
)

// Emulator is what a terminal shows of the bytes that it received. It knows the
// control sequences of xterm that programs use to draw text. As most terminals do,
// it breaks the lines of its main screen again when its width changes.
type Emulator struct {
	columns, rows int
	main, other   [][]cell // what is shown, and the screen behind it: main and alternate
	above         [][]cell // lines that scrolled away, of the main screen
	alternate     bool
	hidden        bool // the cursor
	row, column   int
	wraps         bool // the last column is written: the next character starts a line
	top, bottom   int  // rows that scroll
	saved         [2]int
	last          string // the character last written, for its repetition
	rest          string // the beginning of a sequence whose end has not come yet
}

// cell is one column of a row. The second column of a wide character is empty.
type cell struct {
	text string
	soft bool // the line was broken here: it continues in the next row
}

// NewEmulator is an empty terminal.
func NewEmulator(columns, rows int) *Emulator {
	e := &Emulator{columns: columns, rows: rows, bottom: rows - 1}
	e.main, e.other = blank(columns, rows), blank(columns, rows)
	return e
}

func blank(columns, rows int) [][]cell {
	all := make([][]cell, rows)
	for i := range all {
		all[i] = blankRow(columns)
	}
	return all
}

func blankRow(columns int) []cell { return slices.Repeat([]cell{{text: " "}}, columns) }

// Lines is what is shown, without blanks at the ends of lines and of the screen.
func (e *Emulator) Lines() []string {
	lines := make([]string, len(e.main))
	for i, row := range e.main {
		lines[i] = lineOf(row)
	}
	for len(lines) > 0 && lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// History is what scrolled away, followed by what is shown.
func (e *Emulator) History() []string {
	var lines []string
	for _, row := range e.above {
		lines = append(lines, lineOf(row))
	}
	return append(lines, e.Lines()...)
}

// Restored says whether the terminal is as a program should leave it: the main
// screen, with a visible cursor at the beginning of a line.
func (e *Emulator) Restored() bool { return !e.alternate && !e.hidden && e.column == 0 }

func lineOf(row []cell) string {
	var b strings.Builder
	for _, c := range row {
		b.WriteString(c.text)
	}
	return strings.TrimRight(b.String(), " ")
}

// Write implements io.Writer.
func (e *Emulator) Write(b []byte) (int, error) {
	text := e.rest + string(b)
	for text != "" {
		n := e.step(text)
		if n == 0 {
			break
		}
		text = text[n:]
	}
	e.rest = text
	return len(b), nil
}

// step does the first thing in text and returns its size; 0 when it is incomplete.
func (e *Emulator) step(text string) int {
	switch text[0] {
	case 0x1b:
		return e.escape(text)
	case '\r':
		e.column, e.wraps = 0, false
	case '\n':
		e.feed()
	case '\b':
		e.column, e.wraps = max(0, e.column-1), false
	case '\t':
		e.column = min(e.columns-1, (e.column/8+1)*8)
	case 0x07, 0x0e, 0x0f, 0x00:
	default:
		return e.put(text)
	}
	return 1
}

func (e *Emulator) put(text string) int {
	r, size := rune(0), 0
	for i, x := range text {
		if i > 0 {
			size = i
			break
		}
		r, size = x, len(text)
	}
	if r == '\ufffd' && len(text) < 4 && text[0] >= 0xc0 {
		return 0 // the rest of the character comes with the next write
	}
	char := text[:size]
	width := runewidth.RuneWidth(r)
	if width == 0 {
		if e.column > 0 {
			at := e.column - 1
			if e.wraps {
				at = e.column
			}
			e.main[e.row][at].text += char
		}
		return size
	}
	if e.wraps || e.column+width > e.columns {
		e.main[e.row][e.columns-1].soft = true
		e.column, e.wraps = 0, false
		e.feed()
	}
	e.last = char
	e.main[e.row][e.column] = cell{text: char}
	if width == 2 {
		e.main[e.row][e.column+1] = cell{}
	}
	if e.column += width; e.column >= e.columns {
		e.column, e.wraps = e.columns-1, true
	}
	return size
}

// feed moves to the next row, and scrolls at the end of the region.
func (e *Emulator) feed() {
	e.wraps = false
	if e.row == e.bottom {
		e.scroll(1)
		return
	}
	e.row = min(e.row+1, e.rows-1)
}

func (e *Emulator) scroll(n int) {
	for range n {
		if !e.alternate && e.top == 0 {
			e.above = append(e.above, e.main[0])
		}
		e.main = slices.Insert(slices.Delete(e.main, e.top, e.top+1), e.bottom, blankRow(e.columns))
	}
}

func (e *Emulator) unscroll(n int) {
	for range n {
		e.main = slices.Insert(slices.Delete(e.main, e.bottom, e.bottom+1), e.top, blankRow(e.columns))
	}
}

func (e *Emulator) escape(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch text[1] {
	case '[':
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				e.control(text[2:i], text[i])
				return i + 1
			}
		}
		return 0
	case ']', 'P', '_', '^', 'X': // a text for the terminal itself
		for i := 2; i < len(text); i++ {
			switch {
			case text[i] == 0x07:
				return i + 1
			case text[i] == 0x1b && i+1 < len(text):
				return i + 2
			}
		}
		return 0
	case '(', ')':
		if len(text) < 3 {
			return 0
		}
		return 3
	case 'M':
		if e.row == e.top {
			e.unscroll(1)
		} else {
			e.row = max(0, e.row-1)
		}
	case '7':
		e.saved = [2]int{e.row, e.column}
	case '8':
		e.row, e.column = e.saved[0], e.saved[1]
	}
	return 2
}

// control does a control sequence with numbers.
func (e *Emulator) control(args string, final byte) {
	if strings.HasPrefix(args, "?") {
		e.mode(args[1:], final == 'h', final == 'l')
		return
	}
	if strings.ContainsAny(args, "<=>$!\" ") {
		return
	}
	var given []int
	for part := range strings.SplitSeq(args, ";") {
		n, _ := strconv.Atoi(part)
		given = append(given, n)
	}
	n := max(given[0], 1)
	row := e.main[e.row]
	e.wraps = e.wraps && final == 'm'
	switch final {
	case 'A':
		e.row = max(0, e.row-n)
	case 'B', 'e':
		e.row = min(e.rows-1, e.row+n)
	case 'C', 'a':
		e.column = min(e.columns-1, e.column+n)
	case 'D':
		e.column = max(0, e.column-n)
	case 'E':
		e.row, e.column = min(e.rows-1, e.row+n), 0
	case 'F':
		e.row, e.column = max(0, e.row-n), 0
	case 'G', '`':
		e.column = min(e.columns, n) - 1
	case 'd':
		e.row = min(e.rows, n) - 1
	case 'H', 'f':
		e.row, e.column = min(e.rows, n)-1, 0
		if len(given) > 1 {
			e.column = min(e.columns, max(given[1], 1)) - 1
		}
	case 'I':
		e.column = min(e.columns-1, (e.column/8+n)*8)
	case 'Z':
		e.column = max(0, ((e.column+7)/8-n)*8)
	case 'J':
		e.erase(given[0])
	case 'K':
		from, to := e.column, e.columns
		switch given[0] {
		case 1:
			from, to = 0, e.column+1
		case 2:
			from = 0
		}
		copy(row[from:to], blankRow(to-from))
	case 'X':
		to := min(e.columns, e.column+n)
		copy(row[e.column:to], blankRow(to-e.column))
	case '@':
		e.main[e.row] = slices.Insert(row, e.column, blankRow(n)...)[:e.columns]
	case 'P':
		n = min(n, e.columns-e.column)
		e.main[e.row] = append(slices.Delete(row, e.column, e.column+n), blankRow(n)...)
	case 'L', 'M':
		top := e.top
		e.top = e.row
		if final == 'L' {
			e.unscroll(min(n, e.bottom-e.row+1))
		} else {
			e.deleteRows(min(n, e.bottom-e.row+1))
		}
		e.top, e.column = top, 0
	case 'S':
		e.scroll(n)
	case 'T':
		e.unscroll(n)
	case 'b':
		for range n {
			e.put(e.last)
		}
	case 'r':
		e.top, e.bottom = n-1, e.rows-1
		if len(given) > 1 && given[1] > 0 {
			e.bottom = given[1] - 1
		}
		e.row, e.column = 0, 0
	case 's':
		e.saved = [2]int{e.row, e.column}
	case 'u':
		e.row, e.column = e.saved[0], e.saved[1]
	}
}

func (e *Emulator) deleteRows(n int) {
	for range n {
		e.main = slices.Insert(slices.Delete(e.main, e.top, e.top+1), e.bottom, blankRow(e.columns))
	}
}

func (e *Emulator) erase(part int) {
	switch part {
	case 0:
		copy(e.main[e.row][e.column:], blankRow(e.columns-e.column))
		copy(e.main[e.row+1:], blank(e.columns, e.rows-e.row-1))
	case 1:
		copy(e.main[:e.row], blank(e.columns, e.row))
		copy(e.main[e.row][:e.column+1], blankRow(e.column+1))
	default:
		e.main = blank(e.columns, e.rows)
	}
}

// mode switches the cursor and the alternate screen.
func (e *Emulator) mode(args string, on, off bool) {
	if !on && !off {
		return
	}
	for name := range strings.SplitSeq(args, ";") {
		switch name {
		case "25":
			e.hidden = off
		case "47", "1047", "1049":
			if e.alternate == on {
				continue
			}
			e.alternate = on
			e.main, e.other = e.other, e.main
			if on {
				e.saved = [2]int{e.row, e.column}
				e.main = blank(e.columns, e.rows)
			} else {
				e.row, e.column = min(e.saved[0], e.rows-1), min(e.saved[1], e.columns-1)
			}
		}
	}
}

// Resize changes the size. Lines of the main screen are broken again.
func (e *Emulator) Resize(columns, rows int) {
	e.wraps = false
	if e.alternate {
		e.main = resized(e.main, columns, rows)
		e.other = resized(e.other, columns, rows)
		e.row, e.column = min(e.row, rows-1), min(e.column, columns-1)
	} else {
		e.reflow(columns, rows)
		e.other = resized(e.other, columns, rows)
	}
	e.columns, e.rows, e.top, e.bottom = columns, rows, 0, rows-1
}

func resized(rows [][]cell, columns, n int) [][]cell {
	out := blank(columns, n)
	for i := range min(n, len(rows)) {
		copy(out[i], rows[i])
	}
	return out
}

// reflow joins the rows of each line and breaks the lines at the new width.
func (e *Emulator) reflow(columns, rows int) {
	var lines [][]cell
	var at [2]int // the cursor: line and place in it
	joins := false
	for i, row := range slices.Concat(e.above, e.main) {
		if !joins {
			lines = append(lines, nil)
		}
		line := len(lines) - 1
		if i == len(e.above)+e.row {
			at = [2]int{line, len(lines[line]) + e.column}
		}
		joins = row[len(row)-1].soft
		part := slices.Clone(row)
		part[len(part)-1].soft = false
		lines[line] = append(lines[line], part...)
	}
	var all [][]cell
	cursor, end := 0, 0
	for i, line := range lines {
		for len(line) > 0 && line[len(line)-1].text == " " {
			line = line[:len(line)-1]
		}
		first := len(all)
		for more := true; more; more = len(line) > 0 {
			n := min(columns, len(line))
			if n < len(line) && line[n].text == "" { // a wide character is not divided
				n--
			}
			row := blankRow(columns)
			copy(row, line[:n])
			line = line[n:]
			row[columns-1].soft = len(line) > 0
			all = append(all, row)
		}
		if lineOf(all[len(all)-1]) != "" {
			end = len(all) - 1
		}
		if i == at[0] {
			cursor, e.column = first+min(at[1]/columns, len(all)-1-first), min(at[1]%columns, columns-1)
			end = max(end, cursor)
		}
	}
	all = all[:end+1]
	top := max(0, len(all)-rows)
	top = max(top, min(len(e.above), cursor)) // what has scrolled away stays away
	e.above = all[:top]
	e.main = append(all[top:len(all):len(all)], blank(columns, rows)...)[:rows]
	e.row = min(cursor-top, rows-1)
}
