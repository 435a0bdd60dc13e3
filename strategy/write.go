package strategy

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// YAML writes the strategy with everything spelled out. Parse reads it back to an equal strategy.
func (s *Strategy) YAML() []byte {
	var b bytes.Buffer
	writeBlock(&b, s.document(), "")
	return b.Bytes()
}

// Hash identifies what the strategy means. Comments, the description, the order of
// keys where it has no meaning and defaults that are spelled out make no difference.
func (s *Strategy) Hash() [32]byte {
	meaning := *s
	meaning.Description = ""
	return sha256.Sum256(meaning.JSON())
}

// JSON writes the strategy with everything spelled out, keys in the order of
// the grammar. It is YAML too: Parse reads it.
func (s *Strategy) JSON() []byte {
	var b bytes.Buffer
	writeJSON(&b, s.document())
	return b.Bytes()
}

// document is the strategy as it is written. The grammar is bound to a copy: it only reads it.
func (s *Strategy) document() object {
	c := *s
	return c.grammar().tree().(object)
}

// writeBlock writes a mapping, a key a line; what is short and flat is written on the key's line.
func writeBlock(b *bytes.Buffer, o object, indent string) {
	for _, m := range o {
		b.WriteString(indent + scalar(m.key) + ":")
		writeValue(b, m.value, indent+"  ")
	}
}

func writeValue(b *bytes.Buffer, v any, indent string) {
	if line := flow(v); isFlat(v) && len(line) <= 100 {
		b.WriteString(" " + line + "\n")
		return
	}
	b.WriteString("\n")
	switch v := v.(type) {
	case object:
		writeBlock(b, v, indent)
	case []any:
		for _, item := range v {
			b.WriteString(indent + "- " + flow(item) + "\n")
		}
	default:
		b.Truncate(b.Len() - 1) // a long text stays on its line
		b.WriteString(" " + scalar(v) + "\n")
	}
}

// isFlat says that a value holds no mapping but may be one.
func isFlat(v any) bool {
	switch v := v.(type) {
	case object:
		return !slices.ContainsFunc(v, func(m member) bool { return isObject(m.value) || !isFlat(m.value) })
	case []any:
		return !slices.ContainsFunc(v, isObject)
	}
	return true
}

func isObject(v any) bool { _, ok := v.(object); return ok }

func flow(v any) string {
	switch v := v.(type) {
	case object:
		parts := text.Map(v, func(m member) string { return scalar(m.key) + ": " + flow(m.value) })
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		return "[" + strings.Join(text.Map(v, flow), ", ") + "]"
	}
	return scalar(v)
}

var (
	plainWord = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./-]*$`)
	reserved  = regexp.MustCompile(`^(?i:true|false|yes|no|on|off|null|y|n|nan|inf)$`)
)

// scalar writes text so that no reader of YAML takes it for anything else.
func scalar(v any) string {
	switch v := v.(type) {
	case string:
		if plainWord.MatchString(v) && !reserved.MatchString(v) {
			return v
		}
		return quote(v)
	case float64:
		return numeral(v)
	case int:
		return strconv.Itoa(v)
	case bool:
		return strconv.FormatBool(v)
	}
	panic("strategy: a value that the grammar does not have")
}

// quote writes text as JSON does. Names, which most texts are, need no escapes.
func quote(s string) string {
	if !strings.ContainsFunc(s, escaped) {
		return `"` + s + `"`
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(s); err != nil {
		panic("strategy: text that is not JSON: " + err.Error()) // text always is
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// escaped says that JSON may write a character in another way than it is.
func escaped(c rune) bool { return c < ' ' || c > '~' || c == '"' || c == '\\' }

// numeral writes a number that reads back to the same, with a point when there
// is an exponent: some readers of YAML demand one.
func numeral(x float64) string {
	s := strconv.FormatFloat(x, 'g', -1, 64)
	mantissa, exponent, found := strings.Cut(s, "e")
	if !found || strings.Contains(mantissa, ".") {
		return s
	}
	return mantissa + ".0e" + exponent
}

// writeJSON writes a document as JSON, keys in the grammar's order.
func writeJSON(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		b.WriteByte('{')
		for i, m := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quote(m.key) + ":")
			writeJSON(b, m.value)
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case string:
		b.WriteString(quote(v))
	default:
		b.WriteString(scalar(v))
	}
}
