package term

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

// IsTerminal says whether w is one that can be redrawn.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd())) && os.Getenv("TERM") != "dumb"
}

// Width of the terminal behind w, or 80.
func Width(w io.Writer) int {
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

// Palette colours words on a terminal, unless NO_COLOR is set.
type Palette bool

// Paint colours text by an ANSI code.
func (p Palette) Paint(code, text string) string {
	if !p {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Good is text in green.
func (p Palette) Good(text string) string { return p.Paint("32", text) }

// Bad is text in red.
func (p Palette) Bad(text string) string { return p.Paint("31", text) }

// Mark is a green ✔, or a red ✗.
func (p Palette) Mark(ok bool) string {
	if ok {
		return p.Good("✔")
	}
	return p.Bad("✗")
}

// Status is a status in its colour.
func (p Palette) Status(s ktrdr.Status) string {
	switch s {
	case ktrdr.Completed:
		return p.Good(string(s))
	case ktrdr.Failed:
		return p.Bad(string(s))
	case ktrdr.Cancelled, ktrdr.Reconciling:
		return p.Paint("33", string(s))
	case ktrdr.Running:
		return p.Paint("36", string(s))
	}
	return string(s)
}

// Bar draws a part of one as a bar that is columns wide.
func Bar(part float64, columns int) string {
	full := int(min(max(part, 0), 1)*float64(columns) + 0.5)
	if !UTF8() {
		return strings.Repeat("#", full) + strings.Repeat("-", columns-full)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", columns-full)
}

// Screen is a block of lines at the bottom of a terminal that is redrawn in
// place; what is printed above it scrolls away. The block never has more lines
// than the terminal: what has scrolled off cannot be redrawn.
type Screen struct {
	w     io.Writer
	size  func(io.Writer) (columns, lines int) // nil means the terminal's
	drawn []int                                // length of each line now on the terminal
}

// NewScreen makes a screen at the bottom of the terminal behind w.
func NewScreen(w io.Writer) *Screen { return &Screen{w: w} }

func (s *Screen) dimensions() (columns, lines int) {
	if s.size != nil {
		return s.size(s.w)
	}
	return size(s.w)
}

// Columns is how many columns a line of the screen may take: what fills the last
// column of a terminal wraps on some.
func (s *Screen) Columns() int {
	columns, _ := s.dimensions()
	return columns - 1
}

// End leaves the block as it is. What a person typed meanwhile, such as ^C, is
// removed.
func (s *Screen) End() {
	s.drawn = s.drawn[:0]
	_, _ = io.WriteString(s.w, "\r\x1b[K")
}

// Draw replaces the block. The first lines are kept where there are too many.
func (s *Screen) Draw(lines []string) {
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

// Above prints a line that stays, and leaves the block to the next draw.
func (s *Screen) Above(line string) {
	var b strings.Builder
	columns, rows := s.dimensions()
	s.wipe(&b, columns, rows)
	s.drawn = s.drawn[:0]
	b.WriteString(line + "\n")
	_, _ = io.WriteString(s.w, b.String())
}

// wipe removes the block. A terminal that became narrower since has wrapped its
// lines, so that they take more rows than they were. What a person typed has moved
// the cursor from the first column.
func (s *Screen) wipe(b *strings.Builder, columns, rows int) {
	up := 0
	for _, n := range s.drawn {
		up += max(1, (n+columns-1)/columns)
	}
	if up = min(up, rows-1); up > 0 {
		fmt.Fprintf(b, "\r\x1b[%dA\x1b[J", up)
	}
}
