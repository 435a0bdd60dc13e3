package chart

// Held is a position on candles: a triangle where it was entered, a ring where it
// was left, and a line between them, dashed for a loss. X counts candles; what lies
// outside the plot is not marked.
type Held struct {
	From, To    float64
	Entry, Exit float64
	Long, Won   bool
	Chosen      bool // the one that is looked at
}

func (t Held) draw(c *canvas) {
	class := "tl"
	if !t.Won {
		class += " lost"
	}
	if t.Chosen {
		class += " on"
	}
	c.printf(`<line class="%s" x1="%s" x2="%s" y1="%s" y2="%s"/>`, class, c.at(t.From), c.at(t.To), c.down(t.Entry), c.down(t.Exit))
	if c.x.Holds(t.From) {
		shape := "M-4.5 -7H4.5L0 0Z" // a short one points down
		if t.Long {
			shape = "M-4.5 7H4.5L0 0Z"
		}
		c.printf(`<svg class="tm" x="%s" y="%s" width="1" height="1"><path class="ta%s" d="%s"/></svg>`,
			c.at(t.From), c.down(t.Entry), ifLost(t), shape)
	}
	if c.x.Holds(t.To) {
		c.printf(`<circle class="tx%s" cx="%s" cy="%s" r="3.5"/>`, ifLost(t), c.at(t.To), c.down(t.Exit))
	}
}

func ifLost(t Held) string {
	if t.Won {
		return ""
	}
	return " lost"
}
