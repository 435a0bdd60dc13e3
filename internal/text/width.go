package text

import (
	"unicode"

	"golang.org/x/text/width"
)

const (
	firstCombining    = 0x300
	emojiPresentation = 0xfe0f
)

// joined are the vowels and final consonants of Hangul: a terminal puts them into
// the syllable before.
var joined = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x1160, Hi: 0x11ff, Stride: 1}, {Lo: 0xd7b0, Hi: 0xd7fb, Stride: 1}}}

// runeWidth is how many columns a character takes. Terminals differ on emoji that
// are made of several characters: this is the most that one of them takes.
func runeWidth(r rune) int {
	switch {
	case r < firstCombining, r == emojiPresentation, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf, joined):
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}
