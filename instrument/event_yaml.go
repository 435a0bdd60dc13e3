package instrument

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/internal/text"
)

// mostEvents bounds each list of a file.
const mostEvents = 2000

// list calls each for every part of a list.
func (p *fileParser) list(n ast.Node, path string, each func(n ast.Node)) {
	s, ok := n.(*ast.SequenceNode)
	switch {
	case !ok:
		p.bad(n, "%sit must be a list, not %s", where(path), shown(n))
	case len(s.Values) > mostEvents:
		p.bad(n, "%sthere are %d entries; at most %d are allowed", where(path), len(s.Values), mostEvents)
	default:
		for _, v := range s.Values {
			each(v)
		}
	}
}

// day reads a day such as 2024-06-10.
func (p *fileParser) day(n ast.Node, path string) time.Time {
	word, _ := textOf(n)
	t, err := time.Parse(time.DateOnly, word)
	if err != nil || t.Year() < 1900 || t.Year() > 2200 {
		p.bad(n, "%sit must be a day such as 2024-06-10, not %s", where(path), shown(n))
	}
	return t
}

// number reads a number within bounds.
func (p *fileParser) number(n ast.Node, path string, least, most float64) float64 {
	x, err := strconv.ParseFloat(numberOf(n), 64)
	if err != nil || !(x >= least && x <= most) {
		p.bad(n, "%sit must be a number from %g to %g, not %s", where(path), least, most, shown(n))
	}
	return x
}

// required reads a mapping all of whose keys must be given.
func (p *fileParser) required(n ast.Node, path string, known []key) {
	before := len(p.problems)
	found := p.keys(n, path, known)
	var missing []string
	for _, k := range known {
		if !slices.Contains(found, k.name) {
			missing = append(missing, k.name)
		}
	}
	if len(missing) > 0 && len(p.problems) == before {
		p.bad(n, "%smissing: %s", where(path), strings.Join(missing, ", "))
	}
}

// events reads a list of splits, dividends or rolls.
func (p *fileParser) events(n ast.Node, path string, kind EventKind) (all []Event) {
	const leastPrice, mostPrice = 1e-9, 1e12
	p.list(n, path, func(n ast.Node) {
		e := Event{Kind: kind}
		known := []key{{"on", func(n ast.Node, path string) { e.On = p.day(n, path) }}}
		switch kind {
		case SplitEvent:
			known = append(known, key{"ratio", func(n ast.Node, path string) { e.Ratio = p.number(n, path, 0.0001, 10_000) }})
		case DividendEvent:
			known = append(known, key{"amount", func(n ast.Node, path string) { e.Amount = p.number(n, path, leastPrice, mostPrice) }})
		default:
			from := 1.0
			known = append(known,
				key{"from", func(n ast.Node, path string) { from = p.number(n, path, leastPrice, mostPrice) }},
				key{"to", func(n ast.Node, path string) { e.Ratio = p.number(n, path, leastPrice, mostPrice) }})
			defer func() { all[len(all)-1].Ratio /= from }()
		}
		p.required(n, path, known)
		if slices.ContainsFunc(all, func(other Event) bool { return other.On.Equal(e.On) }) {
			p.bad(n, "%sthe day %s is given twice", where(path), e.On.Format(time.DateOnly))
		}
		all = append(all, e)
	})
	return all
}

// rate reads percent of a year.
func (p *fileParser) rate(n ast.Node, path string) float64 {
	return p.number(n, path, -100*MaxCarry, 100*MaxCarry) / 100
}

// swap reads the costs of a year by side.
func (p *fileParser) swap(n ast.Node, path string) (c Carry) {
	p.required(n, path, []key{
		{"long", func(n ast.Node, path string) { c.Long = p.rate(n, path) }},
		{"short", func(n ast.Node, path string) { c.Short = p.rate(n, path) }},
	})
	return c
}

var weekdays = []string{"sun", "mon", "tue", "wed", "thu", "fri", "sat"}

// venues reads when markets trade.
func (p *fileParser) venuesOf(n ast.Node, path string) {
	p.mapping(n, path, func(name string, _, value ast.Node) {
		s := &Session{Zone: time.UTC, Days: [7]bool{false, true, true, true, true, true, false}}
		path := join(path, name)
		p.keys(value, path, []key{
			{"zone", func(n ast.Node, path string) {
				word, _ := textOf(n)
				zone, err := time.LoadLocation(word)
				if err != nil || word == "" {
					p.bad(n, "%sit must be a time zone such as America/New_York, not %s", where(path), shown(n))
					return
				}
				s.Zone = zone
			}},
			{"days", func(n ast.Node, path string) { s.Days = p.daysOf(n, path) }},
			{"open", func(n ast.Node, path string) { s.Open = p.clock(n, path) }},
			{"close", func(n ast.Node, path string) { s.Close = p.clock(n, path) }},
			{"holidays", func(n ast.Node, path string) {
				p.list(n, path, func(n ast.Node) { s.Holidays = append(s.Holidays, p.day(n, path)) })
				slices.SortFunc(s.Holidays, time.Time.Compare)
			}},
		})
		p.venues[name] = s
	})
}

func (p *fileParser) daysOf(n ast.Node, path string) (days [7]bool) {
	p.list(n, path, func(n ast.Node) {
		word, _ := textOf(n)
		i := slices.Index(weekdays, strings.ToLower(word))
		if i < 0 {
			p.bad(n, "%sit must be a day of the week, not %s; %s", where(path), shown(n), text.Choices(word, weekdays))
			return
		}
		days[i] = true
	})
	return days
}

func (p *fileParser) clock(n ast.Node, path string) time.Duration {
	t, err := time.Parse("15:04", strings.Trim(n.GetToken().Value, " "))
	if err != nil {
		p.bad(n, "%sit must be a time of day such as 09:30, not %s", where(path), shown(n))
	}
	return time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute
}
