package ktrdr

import (
	"log/slog"
	"strings"
	"unicode/utf8"
)

// CleanText makes s storable everywhere: valid UTF-8 without NUL. A model's
// reply or a panic's text must never be the reason that a result cannot be
// saved.
func CleanText(s string) string {
	if utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 {
		return s
	}
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Printable says whether r may reach a terminal as it is: it is no control
// character, and none that turns the direction of the text around it, with which
// one text can be shown as another.
func Printable(r rune) bool {
	switch {
	case r < ' ', r >= 0x7f && r < 0xa0, // controls
		r == 0x061c, r == 0x200e, r == 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2066 && r <= 0x2069, // directions
		r == 0x2028, r == 0x2029: // ends of lines and paragraphs
		return false
	}
	return true
}

// ToPrintable returns s with a space for each character that is not Printable.
func ToPrintable(s string) string {
	return strings.Map(func(r rune) rune {
		if !Printable(r) {
			return ' '
		}
		return r
	}, s)
}

// PlainText says whether s is UTF-8 and all of it Printable.
func PlainText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !Printable(r) })
}

// Secret is a string that does not show itself: not in logs, not in JSON, not
// in an error. Reveal is the one way to its value, and easy to search for.
type Secret string

const redacted = "[redacted]"

// Reveal returns the value.
func (s Secret) Reveal() string { return string(s) }

func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return redacted
}

// GoString keeps %#v from showing the value.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps JSON and YAML from showing the value.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue keeps slog from showing the value.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
