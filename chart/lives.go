package chart

// Lives shows when something lasted: a bar for each stretch of x, on one level.
type Lives struct {
	Y      float64
	Height float64 // of the bars, in pixels
	Spans  []Stretch
}

// Stretch is a part of x.
type Stretch struct {
	From, To float64
	Ended    bool // badly: a cross stands at its end
}

func (l Lives) draw(c *canvas) {
	middle := (1 - c.y.At(l.Y)) * c.height
	for _, s := range l.Spans {
		from, to := c.x.At(s.From), c.x.At(s.To)
		c.printf(`<rect class="ln" x="%s" width="%s" y="%s" height="%s"/>`,
			percent(from), percent(max(to-from, 0.001)), px(middle-l.Height/2), px(l.Height))
		if s.Ended {
			c.printf(`<text class="t x" x="%s" y="%s" dy="4" text-anchor="middle">✕</text>`, percent(to), px(middle))
		}
	}
}
