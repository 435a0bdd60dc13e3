// Package spelling finds the word that was meant by a misspelt one, and writes
// counts with the right ending.
package spelling

import "strings"

// Edits counts the letters to add, drop or change to make b of a.
func Edits(a, b string) int {
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

// Nearest is the name of a list that a misspelt one is nearest to, in whatever
// case; "" where none is near: about a third of the letters may be wrong, three at
// most. Of two that are equally near it is the first.
func Nearest(word string, names []string) string {
	const longest = 60
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
	return best
}

// Choices says which of some names may be meant by a word that is not one of them, and
// which there are.
func Choices[T ~string](word string, names []T) string {
	list := make([]string, len(names))
	for i, n := range names {
		list[i] = string(n)
	}
	text := "there are " + strings.Join(list, ", ")
	if len(list) == 1 {
		text = "there is " + list[0]
	}
	if near := Nearest(word, list); near != "" {
		text = "did you mean " + near + "? " + text
	}
	return text
}
