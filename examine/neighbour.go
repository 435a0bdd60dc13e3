package examine

import (
	"fmt"
	"math"
	"strings"

	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/strategy"
)

// Neighbour is a strategy with one parameter on the next rung.
type Neighbour struct {
	Name     string // rsi_14.period 14 -> 16
	Setting  string // rsi_14.period 14
	Strategy *strategy.Strategy
}

// ladder are the windows that the built-in designer uses. A parameter that is one of them
// moves to its neighbour there; any other moves by a quarter, and by 1 at least.
var ladder = []int{5, 8, 12, 16, 24, 36, 48, 64, 96}

// mostNeighbours bounds how many changed strategies are trained.
const mostNeighbours = 10

// Neighbours are the strategies of which one parameter that the networks read is one rung
// lower or higher: a window of an indicator, or the thresholds of fuzzy sets. Windows and
// thresholds take turns, so that the bound leaves some of both. A change that the grammar
// refuses is left out.
func Neighbours(s *strategy.Strategy) (list []Neighbour) {
	windows, sets := windowNeighbours(s), fuzzyNeighbours(s)
	for i := range max(len(windows), len(sets)) {
		for _, of := range [][][]Neighbour{windows, sets} {
			if i < len(of) && len(list)+len(of[i]) <= mostNeighbours {
				list = append(list, of[i]...)
			}
		}
	}
	return list
}

// windowNeighbours are the neighbours of each window.
func windowNeighbours(s *strategy.Strategy) (all [][]Neighbour) {
	for i, x := range s.Indicators {
		for j, set := range x.Settings {
			if set.IsText || !window(x.Type, set.Name) {
				continue
			}
			var two []Neighbour
			for _, to := range rungs(int(set.Number)) {
				if changed := with(s, i, j, to); changed != nil {
					at := fmt.Sprintf("%s.%s %v", x.ID, set.Name, set.Number)
					two = append(two, Neighbour{fmt.Sprintf("%s -> %d", at, to), at, changed})
				}
			}
			all = append(all, two)
		}
	}
	return all
}

// window says whether a parameter is a number of bars.
func window(kind, name string) bool {
	d, ok := indicator.Lookup(kind)
	if !ok {
		return false
	}
	for _, p := range d.Params {
		if p.Name == name {
			return p.Kind == indicator.Int && p.Max > 2 && strings.Contains(name, "period")
		}
	}
	return false
}

// rungs are the values below and above one.
func rungs(at int) []int {
	for i, v := range ladder {
		if v != at {
			continue
		}
		below, above := quarter(at, -1), quarter(at, 1)
		if i > 0 {
			below = ladder[i-1]
		}
		if i < len(ladder)-1 {
			above = ladder[i+1]
		}
		return []int{below, above}
	}
	return []int{quarter(at, -1), quarter(at, 1)}
}

func quarter(at, sign int) int {
	step := max(int(math.Round(float64(at)/4)), 1)
	return at + sign*step
}

// with is the strategy with another value of a setting; nil if that is not a strategy.
func with(s *strategy.Strategy, at, setting, to int) *strategy.Strategy {
	c := *s
	c.Indicators = append([]strategy.Indicator(nil), s.Indicators...)
	x := &c.Indicators[at]
	x.Settings = append([]indicator.Setting(nil), x.Settings...)
	x.Settings[setting].Number = float64(to)
	if _, err := indicator.New(x.Type, x.Settings); err != nil {
		return nil
	}
	c.Data.History = max(c.Data.History, c.WarmUp())
	return reread(&c)
}

// reread is a strategy as its text says it is; nil if the grammar refuses it.
func reread(s *strategy.Strategy) *strategy.Strategy {
	parsed, _, err := strategy.Parse(s.YAML(), s.Name)
	if err != nil {
		return nil
	}
	return parsed
}
