package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ktrdr/ktrdr"
)

// terminal says whether w is one that can be redrawn.
func terminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// width of the terminal behind w, or 80.
func width(w io.Writer) int {
	if f, ok := w.(*os.File); ok {
		if cols, _, err := term.GetSize(int(f.Fd())); err == nil && cols > 0 {
			return cols
		}
	}
	return 80
}

// palette colours words on a terminal, unless NO_COLOR is set.
type palette bool

func (a *app) palette() palette {
	return palette(terminal(a.out) && a.getenv("NO_COLOR") == "")
}

func (p palette) paint(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p palette) good(text string) string { return p.paint("32", text) }
func (p palette) bad(text string) string  { return p.paint("31", text) }
func (p palette) dim(text string) string  { return p.paint("2", text) }

func (p palette) status(s ktrdr.Status) string {
	switch s {
	case ktrdr.Completed:
		return p.paint("32", string(s))
	case ktrdr.Failed:
		return p.paint("31", string(s))
	case ktrdr.Cancelled, ktrdr.Reconciling:
		return p.paint("33", string(s))
	case ktrdr.Running:
		return p.paint("36", string(s))
	}
	return string(s)
}

// bar draws a part of one as a bar of so many columns.
func bar(part float64, columns int) string {
	full := int(min(max(part, 0), 1)*float64(columns) + 0.5)
	return strings.Repeat("█", full) + strings.Repeat("░", columns-full)
}

// screen is a block of lines at the bottom of a terminal that is redrawn in
// place; what is printed above it scrolls away.
type screen struct {
	w     io.Writer
	drawn int // lines of the block now on the terminal
}

// draw replaces the block.
func (s *screen) draw(lines []string) {
	var b strings.Builder
	s.wipe(&b)
	columns := width(s.w)
	for _, l := range lines {
		b.WriteString(clip(l, columns-1) + "\n")
	}
	s.drawn = len(lines)
	_, _ = io.WriteString(s.w, b.String())
}

// above prints a line that stays, and leaves the block to the next draw.
func (s *screen) above(line string) {
	var b strings.Builder
	s.wipe(&b)
	s.drawn = 0
	b.WriteString(line + "\n")
	_, _ = io.WriteString(s.w, b.String())
}

func (s *screen) wipe(b *strings.Builder) {
	if s.drawn > 0 {
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", s.drawn)
	}
}

// shorten cuts a text to so many characters; the last one then says that there
// was more.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}

// clip cuts a line to so many columns without counting colours, because a line
// that wraps cannot be redrawn.
func clip(line string, columns int) string {
	seen := 0
	for i := 0; i < len(line); {
		if line[i] == 0x1b {
			end := strings.IndexByte(line[i:], 'm')
			if end < 0 {
				return line[:i]
			}
			i += end + 1
			continue
		}
		if seen == columns {
			return line[:i] + "\x1b[0m"
		}
		_, size := utf8.DecodeRuneInString(line[i:])
		i, seen = i+size, seen+1
	}
	return line
}
