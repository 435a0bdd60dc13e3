package text

import (
	"strings"
	"unicode/utf8"
)

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

// Width is how many columns a line takes on a terminal. Colour codes take none.
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
		_, size = utf8.DecodeRuneInString(line)
		return size, 1
	}
	if end := strings.IndexByte(line, 'm'); end >= 0 {
		return end + 1, 0
	}
	return len(line), 0 // a code that does not end
}
