package llm

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Keys finds keys in texts that are to be kept or shown, in any spelling that
// JSON, an address or a quoted string has for them.
type Keys []*regexp.Regexp

// NewKeys is for those of the keys that are long enough to be one.
func NewKeys(keys ...ktrdr.Secret) (all Keys) {
	for _, key := range keys {
		if text := strings.TrimSpace(key.Reveal()); len(text) >= leastKey {
			all = append(all, spellings(text))
		}
	}
	return all
}

// Hide takes the keys out of a text.
func (k Keys) Hide(text string) string {
	for _, key := range k {
		text = key.ReplaceAllLiteralString(text, ktrdr.Secret("a key").String())
	}
	return text
}

// In says whether one of the texts holds one of the keys.
func (k Keys) In(texts ...string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return k.Hide(text) != text })
}

// secret is what must not be told: our key and, in errors, the path of the
// server's address, which for some servers is a key as well.
type secret struct {
	keys Keys
	path *regexp.Regexp // nil for none
}

const (
	leastKey = 8 // bytes; what is shorter is a placeholder, and may be a word of the answer
	mostKey  = 4096
)

// usable is a key as a header can carry it. Files and shells put ends of lines
// around keys; within one they are a mistake.
func usable(key ktrdr.Secret) (ktrdr.Secret, error) {
	text := strings.TrimSpace(key.Reveal())
	if len(text) > mostKey {
		return "", fmt.Errorf("is longer than %d bytes", mostKey)
	}
	if strings.ContainsFunc(text, control) {
		return "", errors.New("holds a control character, such as the end of a line")
	}
	return ktrdr.Secret(text), nil
}

func control(r rune) bool { return r < ' ' || r == 0x7f }

func newSecret(key ktrdr.Secret, path string) secret {
	return secret{keys: NewKeys(key), path: spellings(path)}
}

// spellings matches a text with any of its letters escaped, once or more often.
func spellings(text string) *regexp.Regexp {
	var b strings.Builder
	for _, r := range text {
		fmt.Fprintf(&b, `(?:\\*%s|\\+u(?i:%04x)|(?:\\+x|%%)(?i:%02x))`, regexp.QuoteMeta(string(r)), r, r)
	}
	return regexp.MustCompile(b.String())
}

const maxShown = 300

// shown makes the words of others fit for an error: one line, short, and
// without what is secret.
func (c *client) shown(said string) string {
	said = c.kept(said)
	if c.secret.path != nil {
		said = c.secret.path.ReplaceAllLiteralString(said, "/…")
	}
	said = strings.Join(strings.Fields(said), " ")
	said = strings.Map(func(r rune) rune {
		if control(r) {
			return -1
		}
		return r
	}, said)
	return text.Cut(said, maxShown)
}

// kept is a text that a server sent as the journal may keep it: storable, and
// without our key.
func (c *client) kept(text string) string { return c.hide(ktrdr.CleanText(text)) }

// hide takes our key out of what a server says, wherever it will be kept.
func (c *client) hide(text string) string { return c.secret.keys.Hide(text) }

// told is an error in words that may be shown. Its cause can be asked for its kind
// and is not printed.
type told struct {
	text string
	err  error
}

func (t *told) Error() string { return t.text }
func (t *told) Unwrap() error { return t.err }
