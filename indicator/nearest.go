package indicator

import (
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Nearest is the name of the indicator whose name or alias is the most like name, or "" when none is.
func Nearest(name string) string {
	var all []string
	for _, d := range Definitions() {
		all = append(append(all, d.Name), d.Aliases...)
	}
	return names[text.Nearest(name, all)]
}

// hint names the parameter most like name, or all of them.
func (d Definition) hint(name string) string {
	if len(d.Params) == 0 {
		return "; it takes none"
	}
	all := text.Map(d.Params, func(p Param) string { return p.Name })
	if best := text.Nearest(name, all); best != "" {
		return hint(best)
	}
	return "; it takes " + strings.Join(all, ", ")
}

func hint(nearest string) string {
	if nearest == "" {
		return ""
	}
	return "; did you mean " + nearest + "?"
}
