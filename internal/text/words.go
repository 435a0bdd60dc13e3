package text

import (
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Counted is a number and its noun: 1 row, 2 rows. A plural that does not end
// in s is given.
func Counted(n int, one string, plural ...string) string {
	switch {
	case n == 1:
		return "1 " + one
	case len(plural) > 0:
		return strconv.Itoa(n) + " " + plural[0]
	}
	return strconv.Itoa(n) + " " + one + "s"
}

// Grouped is a number with a comma between thousands.
func Grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Map is what of makes of each of a list.
func Map[T, S any](list []T, of func(T) S) []S {
	out := make([]S, len(list))
	for i, x := range list {
		out[i] = of(x)
	}
	return out
}

// Strings converts a list to strings.
func Strings[T ~string](list []T) []string { return Map(list, func(x T) string { return string(x) }) }

// Join is a list as text: a, b, c.
func Join[T ~string](list []T) string { return strings.Join(Strings(list), ", ") }

// List is a list as text with a word before the last item: a, b and c.
func List[T ~string](list []T, word string) string {
	last := len(list) - 1
	if last < 1 {
		return Join(list)
	}
	return Join(list[:last]) + " " + word + " " + string(list[last])
}

// Minute is an instant in Unix seconds as text, in UTC.
func Minute(seconds int64) string { return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04") }

// Duration is a time without the parts that are 0: 1h and not 1h0m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// leastShown is the smallest p-value that is written with its digits. A smaller one is no
// better evidence: the model behind the number is not exact to that many digits.
const leastShown = 0.0001

// Probability is a p-value with two digits, or that it is below 0.0001.
func Probability(p float64) string {
	if p < leastShown {
		return "< " + strconv.FormatFloat(leastShown, 'f', -1, 64)
	}
	return strconv.FormatFloat(p, 'g', 2, 64)
}

// PValue is a p-value with its letter: "p = 0.0041" or "p < 0.0001".
func PValue(p float64) string {
	said := Probability(p)
	if p < leastShown {
		return "p " + said
	}
	return "p = " + said
}

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

// Cut shortens s to at most a number of bytes, at a whole character, and adds …
func Cut[T ~string | ~[]byte](s T, most int) string {
	if len(s) <= most {
		return string(s)
	}
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return string(s[:most]) + "…"
}

// Width is how many columns a line takes on a terminal: wide characters take two,
// combining characters and colour codes none.
func Width(line string) (columns int) {
	for rest := line; rest != ""; {
		size, width := next(rest)
		rest, columns = rest[size:], columns+width
	}
	return columns
}

// Fit shortens a line to a number of columns; the last one is then …
func Fit(line string, columns int) string {
	if Width(line) <= columns {
		return line
	}
	end, seen := 0, 0
	for end < len(line) {
		size, width := next(line[end:])
		if seen+width >= columns {
			break
		}
		end, seen = end+size, seen+width
	}
	short := line[:end]
	if columns > 0 {
		short += "…"
	}
	if strings.IndexByte(short, escape) >= 0 {
		short += "\x1b[0m"
	}
	return short
}

const escape = 0x1b

// next is the size in bytes and the width of the first character or colour code.
func next(line string) (size, width int) {
	if line[0] != escape {
		r, size := utf8.DecodeRuneInString(line)
		return size, runeWidth(r)
	}
	if end := strings.IndexByte(line, 'm'); end >= 0 {
		return end + 1, 0
	}
	return len(line), 0 // a code that does not end
}
