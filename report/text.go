package report

import (
	"strings"

	"github.com/ktrdr/ktrdr"
)

// plain makes text from outside safe to print.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if !ktrdr.Printable(r) {
			return ' '
		}
		return r
	}, s)
}

func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(runes[:most-1]) + "…"
}
