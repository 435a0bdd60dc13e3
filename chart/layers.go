package chart

import (
	"hash/fnv"
	"html/template"
	"slices"
	"strings"
)

// width is how many units of x a path is drawn in; the browser stretches them.
const width = 2000

// Line joins points. It is interrupted where a value is not finite.
type Line struct {
	Points []XY
	Class  string
	Step   bool // horizontal until the next point
}

func (l Line) draw(c *canvas) {
	var d strings.Builder
	pen, last := "M", ""
	for _, p := range l.Points {
		if !finite(p.X) || !finite(p.Y) {
			pen = "M"
			continue
		}
		x, y := trim(c.x.At(p.X)*width, 1), c.down(p.Y)
		if l.Step && pen == "L" {
			d.WriteString("L" + x + " " + last)
		}
		d.WriteString(pen + x + " " + y)
		pen, last = "L", y
	}
	c.path(l.Class, d.String())
}

// path draws in units of width, stretched to the plot.
func (c *canvas) path(class, d string) {
	if d == "" {
		return
	}
	c.printf(`<svg viewBox="0 0 %d %s" preserveAspectRatio="none" width="100%%" height="%s"><path class="%s" d="%s"/></svg>`,
		width, px(c.height), px(c.height), class, d)
}

// Area is between a line and a level, or between two lines with the same xs.
type Area struct {
	Points []XY
	Base   float64 // the level
	To     []XY    // instead of the level
	Class  string
	Hatch  bool // what luck explains
}

func (a Area) draw(c *canvas) {
	if len(a.Points) == 0 {
		return
	}
	corners := slices.Clone(a.Points)
	if a.To == nil {
		a.To = []XY{{a.Points[0].X, a.Base}, {a.Points[len(a.Points)-1].X, a.Base}}
	}
	for _, p := range slices.Backward(a.To) {
		corners = append(corners, p)
	}
	if a.Hatch {
		c.hatch(corners)
		return
	}
	c.path(a.Class, c.polygon(corners, width, c.height, 1))
}

// polygon is a closed path through points, in a drawing of this size.
func (c *canvas) polygon(points []XY, width, height float64, decimals int) string {
	var d strings.Builder
	for i, p := range points {
		pen := "L"
		if i == 0 {
			pen = "M"
		}
		d.WriteString(pen + trim(c.x.At(p.X)*width, decimals) + " " + trim((1-c.y.At(p.Y))*height, decimals))
	}
	return d.String() + "Z"
}

// hatch fills a polygon with the pattern of luck. The polygon clips a rectangle
// instead of being filled: a pattern inside a stretched drawing would be
// stretched with it. Equal polygons have equal clips, so that a clip is named by
// its content.
func (c *canvas) hatch(points []XY) {
	d := c.polygon(points, 1, 1, 4)
	h := fnv.New64a()
	h.Write([]byte(d))
	c.printf(`<clipPath id="h%x" clipPathUnits="objectBoundingBox"><path d="%s"/></clipPath>`, h.Sum64(), d)
	c.printf(`<rect width="100%%" height="%s" fill="url(#hatch)" clip-path="url(#h%x)"/>`, px(c.height), h.Sum64())
}

// Hatch defines the pattern of luck, and the dots of what is sealed. A page has it
// once, before its figures.
const Hatch template.HTML = `<svg class="vh" width="0" height="0" aria-hidden="true"><defs>` +
	`<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">` +
	`<line class="hl" x1="0" x2="0" y1="0" y2="5"/></pattern>` +
	`<pattern id="dots" width="7" height="7" patternUnits="userSpaceOnUse"><circle class="hd" cx="2" cy="2" r=".8"/></pattern></defs></svg>`

// Zone shades a stretch of x over the height of the plot.
type Zone struct {
	From, To float64
	Class    string
	Text     string // at its top left
	Note     string // after the text
}

func (z Zone) draw(c *canvas) {
	from, to := c.x.At(z.From), c.x.At(z.To)
	c.printf(`<rect class="z %s" x="%s" width="%s" y="0" height="%s"/>`, z.Class, percent(from), percent(to-from), px(c.height))
	if z.Text != "" {
		c.printf(`<text class="t" x="%s" dx="6" y="14"><tspan class="b">%s</tspan> <tspan class="zn">%s</tspan></text>`,
			percent(from), template.HTMLEscapeString(z.Text), template.HTMLEscapeString(z.Note))
	}
}

// Dots are values that are not joined.
type Dots struct {
	Points []XY
	Class  string
	Radius float64 // in pixels; 0 means 2
}

func (l Dots) draw(c *canvas) {
	r := l.Radius
	if r == 0 {
		r = 2
	}
	c.printf(`<g class="%s">`, l.Class)
	for _, p := range l.Points {
		if finite(p.X) && finite(p.Y) && c.x.Holds(p.X) && c.y.Holds(p.Y) {
			c.printf(`<circle cx="%s" cy="%s" r="%s"/>`, c.at(p.X), c.down(p.Y), px(r))
		}
	}
	c.WriteString(`</g>`)
}

// Vertical is a line from top to bottom.
type Vertical struct {
	X     float64
	Class string
}

func (v Vertical) draw(c *canvas) {
	x := c.at(v.X)
	c.printf(`<line class="%s" x1="%s" x2="%s" y1="0" y2="%s"/>`, v.Class, x, x, px(c.height))
}

// Horizontal is a horizontal line between two values of x, such as an error bar.
type Horizontal struct {
	From, To, Y float64
	Class       string
}

func (s Horizontal) draw(c *canvas) {
	y := c.down(s.Y)
	c.printf(`<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, s.Class, c.at(s.From), c.at(s.To), y, y)
}

// Text is written beside a value.
type Text struct {
	X, Y   float64
	DX, DY float64 // pixels to the right and down
	Edge   int     // -1: it starts there; 1: it ends there; 0: it is centred
	Class  string
	Text   string
}

func (t Text) draw(c *canvas) {
	c.printf(`<text class="t %s" x="%s" dx="%s" y="%s" dy="%s"%s>%s</text>`,
		t.Class, c.at(t.X), px(t.DX), c.down(t.Y), px(t.DY), anchor(t.Edge), template.HTMLEscapeString(t.Text))
}

// Histogram are rectangles from the level of 0, each between two values of x.
type Histogram struct {
	From, To, Y []float64
	Class       func(i int) string
}

func (b Histogram) draw(c *canvas) {
	base := (1 - c.y.At(0)) * c.height
	for i, y := range b.Y {
		top := (1 - c.y.At(y)) * c.height
		from, to := c.x.At(b.From[i]), c.x.At(b.To[i])
		c.printf(`<rect class="%s" x="%s" width="%s" y="%s" height="%s"/>`,
			b.Class(i), percent(from), percent(to-from), px(min(top, base)), px(max(top, base)-min(top, base)))
	}
}
