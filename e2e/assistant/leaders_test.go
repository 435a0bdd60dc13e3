package assistant

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// leader is a row of the table of a run, as an assistant reads it.
type leader struct {
	strategy string
	sharpe   float64 // of the test part
	adjusted float64 // p-value of its look; unknown where there was none
}

// unknown is between the p-value of a good look and that of a bad one.
const unknown = 0.5

func looked(all []leader) bool {
	return slices.ContainsFunc(all, func(l leader) bool { return l.adjusted != unknown })
}

// leaders reads the table of an answer by the names of its columns. Rows without a
// Sharpe ratio are left out.
func leaders(said string) (all []leader) {
	var head []string
	for line := range strings.Lines(said) {
		cells := strings.Split(strings.TrimSuffix(line, "\n"), " | ")
		switch {
		case cells[0] == "research" && len(cells) > 1:
			head = cells
			continue
		case len(cells) != len(head):
			continue
		}
		cell := func(name string) string { return cells[max(0, slices.Index(head, name))] }
		l := leader{strategy: strings.NewReplacer("<data>", "", "</data>", "").Replace(cell("strategy")), adjusted: unknown}
		if p, err := strconv.ParseFloat(cell("adjusted p"), 64); err == nil {
			l.adjusted = p
		}
		var err error
		if l.sharpe, err = strconv.ParseFloat(cell("Sharpe, test part"), 64); err == nil {
			all = append(all, l)
		}
	}
	return all
}

// best is the row that a reader designs near: the lowest adjusted p-value of a look, then
// the highest Sharpe ratio.
func best(all []leader) leader {
	return slices.MaxFunc(all, func(a, b leader) int {
		return cmp.Or(cmp.Compare(b.adjusted, a.adjusted), cmp.Compare(a.sharpe, b.sharpe))
	})
}
