package text

import (
	"slices"
	"strings"
)

// Edits is the edit distance of two texts: the letters to add, drop, change or
// swap with their neighbour to make b of a.
func Edits(a, b string) int {
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
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

// Nearest returns the name that a misspelt word most likely stands for, in
// upper or lower case, or "". About a third of the letters may be wrong, three
// at most. A name that the word is a part of, or that begins like it, is near
// too: fast for fast_period, params for parameters. The first of several wins.
func Nearest(word string, names []string) string {
	const longest, shortestPart = 60, 3
	if word == "" || len(word) > longest {
		return ""
	}
	word = strings.ToLower(word)
	best, least := "", 1+min(3, (len(word)+2)/3)
	for _, name := range names {
		if d := Edits(word, strings.ToLower(name)); d < least && d < len(name) {
			best, least = name, d
		}
	}
	if best != "" || len(word) < shortestPart {
		return best
	}
	stem := word[:max(shortestPart, (2*len(word)+2)/3)]
	i := slices.IndexFunc(names, func(name string) bool {
		name = strings.ToLower(name)
		return strings.Contains(name, word) || strings.HasPrefix(name, stem)
	})
	if i < 0 {
		return ""
	}
	return names[i]
}

// Choices says which of some names may be meant by a word that is not one of
// them, and which there are.
func Choices[T ~string](word string, names []T) string {
	choices := "there are " + Join(names)
	if len(names) == 1 {
		choices = "there is " + Join(names)
	}
	if near := Nearest(word, Strings(names)); near != "" {
		choices = "did you mean " + near + "? " + choices
	}
	return choices
}
