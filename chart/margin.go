package chart

import "html/template"

// Margin is how far a value is from its limit, as a multiple of the limit: to the
// right of the tick it passes, to the left it fails. Far values come near to the
// end and never reach it.
func Margin(room float64) template.HTML {
	c := &canvas{x: Scale{Min: -1, Max: 1}, y: Scale{Max: 1}, height: 12}
	at, class := c.at(room/(1+max(room, -room))), "p"
	if room < 0 {
		class = "f"
	}
	c.printf(`<svg class="mg %s" height="12" aria-hidden="true"><line class="gr" x1="0" x2="100%%" y1="6" y2="6"/>`, class)
	c.printf(`<line class="g0" x1="50%%" x2="50%%" y1="1" y2="11"/><line class="to" x1="50%%" x2="%s" y1="6" y2="6"/>`, at)
	c.printf(`<circle cx="%s" cy="6" r="3.5"/></svg>`, at)
	return template.HTML(c.String()) //nolint:gosec // numbers only
}
