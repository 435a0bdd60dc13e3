package strategy

import "github.com/ktrdr/ktrdr/internal/text"

// suggest ends a message about an unknown name: with the nearest known one, or
// with all of them when none is near and they are few.
func suggest(name string, known []string) string {
	if hint := near(name, known); hint != "" || len(known) == 0 || len(known) > 16 {
		return hint
	}
	return "; there is " + text.Join(known)
}

// near suggests the nearest known name, if one is near.
func near[T ~string](name string, known []T) string {
	if nearest := text.Nearest(name, text.Strings(known)); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
