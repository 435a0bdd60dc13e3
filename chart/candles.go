package chart

import "strings"

// Candle is a bar of prices.
type Candle struct{ Open, High, Low, Close float64 }

// Candles are bars at x = 0, 1, 2 …: hollow when the price rose, filled when it
// fell.
type Candles struct{ Bars []Candle }

func (l Candles) draw(c *canvas) {
	var rose, fell, wicks strings.Builder
	for i, b := range l.Bars {
		x := float64(i)
		left, right := trim(c.x.At(x-0.32)*width, 1), trim(c.x.At(x+0.32)*width, 1)
		middle := trim(c.x.At(x)*width, 1)
		top, bottom := c.down(max(b.Open, b.Close)), c.down(min(b.Open, b.Close))
		wicks.WriteString("M" + middle + " " + c.down(b.High) + "V" + top + "M" + middle + " " + bottom + "V" + c.down(b.Low))
		body := &fell
		if b.Close >= b.Open {
			body = &rose
		}
		body.WriteString("M" + left + " " + top + "H" + right + "V" + bottom + "H" + left + "Z")
	}
	c.path("cw", wicks.String())
	c.path("cu", rose.String())
	c.path("cd", fell.String())
}
