package strategy

import "strings"

// suggest ends a message about a name that is not known: with the nearest one
// that is, or with all of them when none is near and they are few.
func suggest(name string, known []string) string {
	if len(name) > 64 {
		return ""
	}
	best, least := "", len(name)
	for _, k := range known {
		if d := edits(strings.ToLower(name), strings.ToLower(k)); d < least {
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

// edits counts the letters to add, drop or change to make b of a.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
