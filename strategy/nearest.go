package strategy

import (
	"strings"

	"github.com/ktrdr/ktrdr/spelling"
)

// suggest ends a message about a name that is not known: with the nearest one
// that is, or with all of them when none is near and they are few.
func suggest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", len(name)
	for _, k := range known {
		if d := spelling.Edits(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	// A name inside the other is near too: "params" means parameters.
	for _, k := range known {
		if 2*least > max(len(name), len(best)) && len(name) > 2 && (strings.Contains(k, name) || strings.Contains(name, k)) {
			return "; did you mean " + k + "?"
		}
	}
	switch {
	case best != "" && 2*least <= max(len(name), len(best)):
		return "; did you mean " + best + "?"
	case len(known) > 0 && len(known) <= 16:
		return "; there is " + strings.Join(known, ", ")
	}
	return ""
}
