package term

import (
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Figure is a drawing of lines over one axis, made of characters.
type Figure struct {
	Title       string
	Lines       []FigureLine // the first is drawn over the others
	Left, Right string       // below the ends of the axis
	Number      func(float64) string
}

// FigureLine is one line of a figure. Values that are no numbers leave a gap.
type FigureLine struct {
	Name   string
	Points []FigurePoint
	Dotted bool
}

// FigurePoint is a place in a figure.
type FigurePoint struct{ X, Y float64 }

// figureRows is how high a figure is.
const figureRows = 8

// Draw makes lines of at most the given columns: braille, which has eight dots in a
// character, or plain ASCII.
func (f Figure) Draw(columns int, p Palette, utf8 bool) []string {
	x, y, ok := f.bounds()
	if !ok {
		return nil
	}
	high, low := f.Number(y[1]), f.Number(y[0])
	labels := max(text.Width(high), text.Width(low))
	c := newCanvas(max(columns-labels-2, 1), figureRows, utf8)
	for i, l := range slices.Backward(f.Lines) {
		c.draw(l, i, x, y)
	}
	lines := []string{text.Fit(f.Title, columns), text.Fit(f.legend(utf8), columns)}
	axis := "|"
	if utf8 {
		axis = "│"
	}
	for i, row := range c.rows(p) {
		label := ""
		switch i {
		case 0:
			label = high
		case figureRows - 1:
			label = low
		}
		lines = append(lines, strings.Repeat(" ", labels-text.Width(label))+label+" "+axis+row)
	}
	room := strings.Repeat(" ", max(1, c.columns-text.Width(f.Left)-text.Width(f.Right)))
	return append(lines, text.Fit(strings.Repeat(" ", labels+2)+f.Left+room+f.Right, columns))
}

// legend names the lines, each with its mark and its last value.
func (f Figure) legend(utf8 bool) string {
	var names []string
	for i, l := range f.Lines {
		if len(l.Points) > 0 {
			names = append(names, markOf(l, i, utf8)+" "+l.Name+" "+f.Number(l.Points[len(l.Points)-1].Y))
		}
	}
	return strings.Join(names, "   ")
}

// asciiMarks are the marks of the lines, in their order.
const asciiMarks = "*.+x"

func markOf(l FigureLine, i int, utf8 bool) string {
	switch {
	case !utf8:
		return asciiMarks[i%len(asciiMarks) : i%len(asciiMarks)+1]
	case l.Dotted:
		return "⠂⠂⠂"
	}
	return "⠒⠒⠒"
}

// bounds are the least and the greatest values of both axes.
func (f Figure) bounds() (x, y [2]float64, ok bool) {
	x, y = [2]float64{math.Inf(1), math.Inf(-1)}, [2]float64{math.Inf(1), math.Inf(-1)}
	for _, l := range f.Lines {
		for _, at := range l.Points {
			if !finite(at) {
				continue
			}
			x = [2]float64{min(x[0], at.X), max(x[1], at.X)}
			y = [2]float64{min(y[0], at.Y), max(y[1], at.Y)}
		}
	}
	return x, y, x[0] <= x[1]
}

func finite(p FigurePoint) bool {
	return !math.IsNaN(p.X) && !math.IsInf(p.X, 0) && !math.IsNaN(p.Y) && !math.IsInf(p.Y, 0)
}

// canvas is a field of dots. Each character holds wide × high of them.
type canvas struct {
	columns, lines int
	wide, high     int
	dots           [][]int // the line that a dot belongs to, from 1; 0: none
	utf8           bool
}

func newCanvas(columns, lines int, utf8 bool) *canvas {
	c := &canvas{columns: columns, lines: lines, wide: 1, high: 1, utf8: utf8}
	if utf8 {
		c.wide, c.high = 2, 4
	}
	c.dots = make([][]int, lines*c.high)
	for i := range c.dots {
		c.dots[i] = make([]int, columns*c.wide)
	}
	return c
}

func (c *canvas) draw(l FigureLine, number int, x, y [2]float64) {
	place := func(v float64, bounds [2]float64, n int) int {
		if bounds[1] == bounds[0] {
			return n / 2
		}
		return int(math.Round((v - bounds[0]) / (bounds[1] - bounds[0]) * float64(n-1)))
	}
	var before *[2]int
	for _, at := range l.Points {
		if !finite(at) {
			before = nil
			continue
		}
		to := [2]int{place(at.X, x, c.columns*c.wide), len(c.dots) - 1 - place(at.Y, y, len(c.dots))}
		if before == nil {
			before = &to
		}
		c.connect(*before, to, number+1, l.Dotted)
		before = &to
	}
}

// connect draws a straight line.
func (c *canvas) connect(from, to [2]int, number int, dotted bool) {
	steps := max(abs(to[0]-from[0]), abs(to[1]-from[1]), 1)
	for i := range steps + 1 {
		x := from[0] + int(math.Round(float64(i*(to[0]-from[0]))/float64(steps)))
		y := from[1] + int(math.Round(float64(i*(to[1]-from[1]))/float64(steps)))
		if !dotted || x%(c.wide+1) == 0 {
			c.dots[y][x] = number
		}
	}
}

func abs(n int) int { return max(n, -n) }

// braille are the bits of the dots of a character, by row and column.
var braille = [4][2]rune{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// rows are the lines of characters. The first line of a figure is coloured.
func (c *canvas) rows(p Palette) []string {
	rows := make([]string, c.lines)
	for i := range rows {
		var b strings.Builder
		for j := range c.columns {
			char, first := c.character(i, j)
			if first {
				char = p.Paint("36", char)
			}
			b.WriteString(char)
		}
		rows[i] = strings.TrimRight(b.String(), " ")
	}
	return rows
}

func (c *canvas) character(row, column int) (char string, first bool) {
	bits, least := rune(0), 0
	for dy := range c.high {
		for dx := range c.wide {
			n := c.dots[row*c.high+dy][column*c.wide+dx]
			if n == 0 {
				continue
			}
			bits |= braille[dy][dx]
			if least == 0 || n < least {
				least = n
			}
		}
	}
	switch {
	case least == 0:
		return " ", false
	case !c.utf8:
		return asciiMarks[(least-1)%len(asciiMarks) : (least-1)%len(asciiMarks)+1], false
	}
	return string(0x2800 + bits), least == 1
}
