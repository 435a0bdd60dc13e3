package chart

import "html/template"

// Lanes are stretches of time, one below the other: a grey one that waits, a
// filled one that works, and dots.
type Lanes struct {
	Label string
	To    float64 // seconds from the beginning
	Rows  []Lane
}

// Lane is one of them. Times are seconds from the beginning.
type Lane struct {
	Name            string
	Waits, From, To float64
	Marks           []float64
	Note            string
}

const laneHeight = 28

// HTML is the figure.
func (l Lanes) HTML() template.HTML {
	x := Scale{Min: 0, Max: max(l.To, 0.001)}
	height := laneHeight * len(l.Rows)
	p := Plot{Label: l.Label, Height: height, Left: 7, X: x, Y: Scale{Min: 0, Max: float64(len(l.Rows))}, YTicks: []Tick{}}
	for _, t := range NumbersIn(x.Ticks(5), " s") {
		if x.At(t.At) > 0.95 {
			t.Edge = 1
		} else if t.At == 0 {
			t.Edge = -1
		}
		p.XTicks = append(p.XTicks, t)
	}
	for i, r := range l.Rows {
		p.YTicks = append(p.YTicks, Tick{At: float64(len(l.Rows)-i) - 0.35, Text: r.Name})
		p.Layers = append(p.Layers, lane{r, float64(len(l.Rows)-i) - 0.35})
	}
	return p.HTML()
}

// lane draws one of them at a level.
type lane struct {
	Lane
	level float64
}

func (l lane) draw(c *canvas) {
	y := (1 - c.y.At(l.level)) * c.height
	waits, from, to := c.x.At(l.Waits), c.x.At(l.From), c.x.At(l.To)
	c.printf(`<rect class="wt" x="%s" width="%s" y="%s" height="4"/>`, percent(waits), percent(from-waits), px(y-2))
	c.printf(`<rect class="bar" x="%s" width="%s" y="%s" height="8"/>`, percent(from), percent(max(to-from, 0.004)), px(y-4))
	for _, m := range l.Marks {
		c.printf(`<circle class="ck" cx="%s" cy="%s" r="2.5"/>`, c.at(m), px(y))
	}
	edge, at, dx := -1, to, 8.0
	if to > 0.6 {
		edge, at, dx = 1, waits, -8
		if waits < 0.4 {
			edge, at, dx = -1, waits, 0
			y += 16
		}
	}
	note := template.HTMLEscapeString(l.Note)
	c.printf(`<text class="t" x="%s" dx="%s" y="%s"%s>%s</text>`, percent(at), px(dx), px(y+4), anchor(edge), note)
}
