package indicator

import (
	"slices"
	"strings"
)

// Nearest is the name of the indicator whose name or alias is the most like
// name, or "" when none is.
func Nearest(name string) string {
	var all []string
	for _, d := range Definitions() {
		all = append(append(all, d.Name), d.Aliases...)
	}
	return names[nearest(strings.ToLower(name), all)]
}

// hint names the parameter most like name, or all of them.
func (d Definition) hint(name string) string {
	if len(d.Params) == 0 {
		return "; it takes none"
	}
	all := make([]string, len(d.Params))
	for i, p := range d.Params {
		all[i] = p.Name
	}
	if best := nearest(strings.ToLower(name), all); best != "" {
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

// nearest is the candidate that name is a slip of, or else a part of (fast of
// fast_period), or "".
func nearest(name string, candidates []string) string {
	best, fewest := "", len(name)
	for _, c := range candidates {
		if n := distance(name, c); n < fewest && 2*n <= max(len(name), len(c)) {
			best, fewest = c, n
		}
	}
	if best != "" || len(name) < 3 {
		return best
	}
	i := slices.IndexFunc(candidates, func(c string) bool { return strings.Contains(c, name) })
	if i < 0 {
		return ""
	}
	return candidates[i]
}

// distance counts the letters to add, drop, change or swap with their
// neighbour to make b of a.
func distance(a, b string) int {
	before := make([]int, len(b)+1)
	last := make([]int, len(b)+1)
	row := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, last[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(b)]
}
