package chart

import (
	"fmt"
	"html/template"
)

// Skill is one row of the leaderboard's column "skill beside luck": a Sharpe
// ratio with its standard error, and what the best of the counted trials shows
// by luck.
type Skill struct {
	Value float64
	Error float64 // 0: not estimated, and the dot is open
	Luck  float64 // 0: not known
	Scale Scale   // the same in each row
}

// HTML is the cell. Luck explains the hatched part, from 0 to its line.
func (s Skill) HTML() template.HTML {
	c := &canvas{x: s.Scale, y: Scale{Max: 1}, height: 18}
	c.printf(`<svg class="sl" height="18" role="img" aria-label="%s">`, template.HTMLEscapeString(s.words()))
	if s.Luck > 0 {
		from, to := c.x.At(0), c.x.At(s.Luck)
		c.printf(`<rect x="%s" width="%s" y="3" height="12" fill="url(#hatch)"/>`, percent(from), percent(to-from))
		c.printf(`<line class="lu" x1="%s" x2="%s" y1="1" y2="17"/>`, percent(to), percent(to))
	}
	c.printf(`<line class="g0" x1="%s" x2="%s" y1="0" y2="18"/>`, c.at(0), c.at(0))
	dot := "dt o"
	if s.Error > 0 {
		dot = "dt"
		c.printf(`<line class="wh" x1="%s" x2="%s" y1="9" y2="9"/>`, c.at(s.Value-s.Error), c.at(s.Value+s.Error))
	}
	c.printf(`<circle class="%s" cx="%s" cy="9" r="4"/></svg>`, dot, c.at(s.Value))
	return template.HTML(c.String()) //nolint:gosec // the only text was escaped where it was written
}

// edge is the share of the column, at each end, that has no room for a number.
const edge = 0.1

// SkillAxis is the scale of the column, in its head.
func SkillAxis(scale Scale) template.HTML {
	c := &canvas{x: scale, y: Scale{Max: 1}, height: 12}
	c.printf(`<svg class="sl" height="12" aria-hidden="true">`)
	for _, t := range Numbers(scale.Ticks(2)) {
		if at := scale.At(t.At); at < edge || at > 1-edge { // it would be cut off
			continue
		}
		c.printf(`<text x="%s" y="10" text-anchor="middle" fill="currentColor">%s</text>`, c.at(t.At), t.Text)
	}
	c.printf(`</svg>`)
	return template.HTML(c.String()) //nolint:gosec // figures only
}

func (s Skill) words() string {
	text := "Sharpe ratio " + Number(s.Value, 2)
	if s.Error > 0 {
		text += fmt.Sprintf(", standard error %.2f", s.Error)
	}
	if s.Luck > 0 {
		text += ", best by luck " + Number(s.Luck, 2)
	}
	return text
}
