package thread

import (
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/ktrdr/ktrdr"
)

// Canonical writes JSON so that two texts are equal exactly when their values are: keys sorted, no
// space, numbers by value (1, 1.0 and 10e-1 are one) at any precision.
func Canonical(raw json.RawMessage) (string, error) {
	if isCanonical(raw) {
		return string(raw), nil
	}
	if !utf8.Valid(raw) {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "JSON must be valid UTF-8")
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "invalid JSON: %w", err)
	}
	if _, err := dec.Token(); err != io.EOF {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "invalid JSON: more than one value")
	}
	return string(appendCanonical(nil, v)), nil
}

// isCanonical says of versions as they mostly are, a whole number or a plain
// string, that they are canonical already. Of anything else it does not know.
func isCanonical(raw []byte) bool {
	n := len(raw)
	if n == 0 {
		return false
	}
	if raw[0] != '"' {
		for _, b := range raw {
			if b < '0' || b > '9' {
				return false
			}
		}
		return raw[n-1] != '0' && raw[0] != '0' || n == 1
	}
	if n < 2 || raw[n-1] != '"' {
		return false
	}
	for _, b := range raw[1 : n-1] {
		if b < ' ' || b > '~' || strings.IndexByte(`"\<>&`, b) >= 0 {
			return false
		}
	}
	return true
}

func appendCanonical(b []byte, v any) []byte {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.Sorted(maps.Keys(v))
		b = append(b, '{')
		for i, key := range keys {
			if i > 0 {
				b = append(b, ',')
			}
			b = append(appendText(b, key), ':')
			b = appendCanonical(b, v[key])
		}
		return append(b, '}')
	case []any:
		b = append(b, '[')
		for i, item := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendCanonical(b, item)
		}
		return append(b, ']')
	case json.Number:
		return append(b, canonicalNumber(string(v))...)
	case string:
		return appendText(b, v)
	case bool:
		return strconv.AppendBool(b, v)
	default:
		return append(b, "null"...)
	}
}

func appendText(b []byte, s string) []byte {
	text, _ := json.Marshal(s) // a string always marshals
	return append(b, text...)
}

// canonicalNumber writes a JSON number as digits without outer zeros and a power of ten: exact
// where a float64 is not, and bounded by the length of the text where a big number is not.
func canonicalNumber(s string) string {
	sign := ""
	if rest, negative := strings.CutPrefix(s, "-"); negative {
		sign, s = "-", rest
	}
	mantissa, exponent := s, int64(0)
	if i := strings.IndexAny(s, "eE"); i >= 0 {
		e, err := strconv.ParseInt(s[i+1:], 10, 64)
		if err != nil || e > math.MaxInt64/2 || e < math.MinInt64/2 {
			return sign + s // an exponent beyond all use: equal to itself only
		}
		mantissa, exponent = s[:i], e
	}
	integer, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(integer+fraction, "0")
	exponent -= int64(len(fraction))
	trimmed := strings.TrimRight(digits, "0")
	exponent += int64(len(digits) - len(trimmed))
	switch {
	case trimmed == "":
		return "0"
	case exponent == 0:
		return sign + trimmed
	}
	return sign + trimmed + "e" + strconv.FormatInt(exponent, 10)
}
