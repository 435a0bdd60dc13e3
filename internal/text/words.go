package text

import (
	"strconv"
	"strings"
	"time"
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
