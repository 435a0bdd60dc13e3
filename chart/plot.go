package chart

import (
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
)

// Plot is a figure with one x axis and one y axis.
type Plot struct {
	Label  string // the result in words, for a reader who does not see it
	Unit   string // of y, in words, at the top left
	Height int    // of the plot in pixels; 0 means 200
	Left   int    // columns of 10 px for the labels of y: 3 to 7; 0 means 4
	X, Y   Scale
	XTicks []Tick
	YTicks []Tick // nil: five round numbers
	Layers []Layer
}

// Tick is a labelled place on an axis.
type Tick struct {
	At   float64
	Text string
	Edge int    // -1: the text starts there; 1: it ends there; 0: it is centred
	Show string // of an instant in Unix seconds: the part of it that a page writes in the reader's zone, clock or date
}

// Layer is something drawn on the plot. Layers are drawn in order.
type Layer interface{ draw(c *canvas) }

// canvas is the plot while its layers are drawn.
type canvas struct {
	strings.Builder
	x, y   Scale
	height float64
}

// at is where a value lies on x, in percent with two decimals.
func (c *canvas) at(x float64) string { return percent(c.x.At(x)) }

// down is where a value lies on y, in pixels from the top.
func (c *canvas) down(y float64) string { return px((1 - c.y.At(y)) * c.height) }

func (c *canvas) printf(format string, args ...any) { fmt.Fprintf(&c.Builder, format, args...) }

// HTML is the figure: y labels, plot and x labels, side by side.
func (p Plot) HTML() template.HTML {
	if p.Height == 0 {
		p.Height = 200
	}
	if p.Left == 0 {
		p.Left = 4
	}
	if p.YTicks == nil {
		p.YTicks = Numbers(p.Y.Ticks(5))
	}
	c := &canvas{x: p.X, y: p.Y, height: float64(p.Height)}
	c.printf(`<div class="ch l%d" role="img" aria-label="%s">`, p.Left, template.HTMLEscapeString(p.Label))
	p.drawY(c)
	c.printf(`<svg class="pl" height="%d" aria-hidden="true">`, p.Height)
	for _, t := range p.YTicks {
		class := "gr"
		if t.At == 0 || p.Y.Log && t.At == 1 {
			class = "g0"
		}
		y := c.down(t.At)
		c.printf(`<line class="%s" x1="0" x2="100%%" y1="%s" y2="%s"/>`, class, y, y)
	}
	for _, l := range p.Layers {
		l.draw(c)
	}
	c.WriteString(`</svg>`)
	p.drawX(c)
	c.WriteString(`</div>`)
	return template.HTML(c.String()) //nolint:gosec // every text was escaped where it was written
}

func (p Plot) drawY(c *canvas) {
	c.printf(`<svg class="y" height="%d" aria-hidden="true">`, p.Height)
	if p.Unit != "" {
		c.printf(`<text class="u" x="0" y="-8">%s</text>`, template.HTMLEscapeString(p.Unit))
	}
	for _, t := range p.YTicks {
		c.printf(`<text x="100%%" dx="-8" y="%s" dy="4" text-anchor="end">%s</text>`, c.down(t.At), template.HTMLEscapeString(t.Text))
	}
	c.WriteString(`</svg>`)
}

func (p Plot) drawX(c *canvas) {
	c.WriteString(`<svg class="x" height="20" aria-hidden="true">`)
	for _, t := range p.XTicks {
		c.printf(`<text x="%s" y="15"%s%s>%s</text>`, c.at(t.At), anchor(t.Edge), t.instant(), template.HTMLEscapeString(t.Text))
	}
	c.WriteString(`</svg>`)
}

// instant says which instant a tick is, as a time element does.
func (t Tick) instant() string {
	if t.Show == "" {
		return ""
	}
	return fmt.Sprintf(` datetime="%s" data-show="%s"`, time.Unix(int64(t.At), 0).UTC().Format(time.RFC3339), t.Show)
}

// Numbers are ticks that are labelled with their values.
func Numbers(values []float64) []Tick { return NumbersIn(values, "") }

// NumbersIn are ticks that are labelled with their values and a unit.
func NumbersIn(values []float64, unit string) []Tick {
	d := Decimals(values)
	ticks := make([]Tick, len(values))
	for i, v := range values {
		ticks[i] = Tick{At: v, Text: Number(v, d) + unit}
	}
	return ticks
}

func anchor(edge int) string {
	switch {
	case edge < 0:
		return ""
	case edge > 0:
		return ` text-anchor="end"`
	}
	return ` text-anchor="middle"`
}

func percent(share float64) string { return trim(share*100, 2) + "%" }

func px(v float64) string { return trim(v, 1) }

// trim writes v with at most this number of decimals, without zeros at the end.
func trim(v float64, decimals int) string {
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
