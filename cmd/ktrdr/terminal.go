package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// terminal says whether w is one that can be redrawn.
func terminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// width of the terminal behind w, or 80.
func width(w io.Writer) int {
	columns, _ := size(w)
	return columns
}

// size of the terminal behind w in columns and lines, or 80 and 24.
func size(w io.Writer) (columns, lines int) {
	if f, ok := w.(interface{ Fd() uintptr }); ok {
		if columns, lines, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && lines > 0 {
			return columns, lines
		}
	}
	return 80, 24
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
// place; what is printed above it scrolls away. The block never has more lines
// than the terminal: what has scrolled off cannot be redrawn.
type screen struct {
	w     io.Writer
	size  func(io.Writer) (columns, lines int) // nil means the terminal's
	drawn []int                                // length of each line now on the terminal
}

func (s *screen) dimensions() (columns, lines int) {
	if s.size != nil {
		return s.size(s.w)
	}
	return size(s.w)
}

// draw replaces the block. The first lines are kept where there are too many.
func (s *screen) draw(lines []string) {
	var b strings.Builder
	columns, rows := s.dimensions()
	s.wipe(&b, columns, rows)
	if most := max(rows-1, 1); len(lines) > most {
		hidden := len(lines) - most + 1
		lines = append(slices.Clone(lines[:most-1]), fmt.Sprintf("… %d more lines", hidden))
	}
	s.drawn = s.drawn[:0]
	for _, l := range lines {
		cut := text.Fit(l, columns-1)
		b.WriteString(cut + "\n")
		s.drawn = append(s.drawn, text.Width(cut))
	}
	_, _ = io.WriteString(s.w, b.String())
}

// above prints a line that stays, and leaves the block to the next draw.
func (s *screen) above(line string) {
	var b strings.Builder
	columns, rows := s.dimensions()
	s.wipe(&b, columns, rows)
	s.drawn = s.drawn[:0]
	b.WriteString(line + "\n")
	_, _ = io.WriteString(s.w, b.String())
}

// wipe removes the block. A terminal that became narrower since has wrapped its
// lines, so that they take more rows than they were.
func (s *screen) wipe(b *strings.Builder, columns, rows int) {
	up := 0
	for _, n := range s.drawn {
		up += max(1, (n+columns-1)/columns)
	}
	if up = min(up, rows-1); up > 0 {
		fmt.Fprintf(b, "\x1b[%dA\x1b[J", up)
	}
}
