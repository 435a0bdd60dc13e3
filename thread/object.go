package thread

import (
	"bytes"
	"encoding/json"
)

// members calls visit with every name of a JSON object and the text of its
// value, which is a part of raw; null has none. Anything else is refused in
// encoding/json's words, but it would make a map of them all, and few are
// looked at.
func members(raw json.RawMessage, visit func(name string, value json.RawMessage)) error {
	rest := bytes.TrimLeft(raw, space)
	if len(rest) == 0 || rest[0] != '{' || !json.Valid(raw) {
		return json.Unmarshal(raw, new(map[string]json.RawMessage))
	}
	for rest = bytes.TrimLeft(rest[1:], space); rest[0] != '}'; rest = bytes.TrimLeft(rest, space+",") {
		n := valueLen(rest)
		name, _ := text(rest[:n]) // valid, and a string
		rest = bytes.TrimLeft(rest[n:], space+":")
		n = valueLen(rest)
		visit(name, json.RawMessage(rest[:n]))
		rest = rest[n:]
	}
	return nil
}

const space = " \t\r\n"

// valueLen is how long the value is with which valid JSON begins.
func valueLen(valid []byte) int {
	switch valid[0] {
	case '"':
		return stringLen(valid)
	case '{', '[':
		return nestedLen(valid)
	}
	if n := bytes.IndexAny(valid, ",]}"+space); n >= 0 {
		return n
	}
	return len(valid)
}

func stringLen(valid []byte) int {
	n := 1
	for valid[n] != '"' {
		if valid[n] == '\\' {
			n++
		}
		n++
	}
	return n + 1
}

func nestedLen(valid []byte) int {
	n, depth := 0, 0
	for {
		switch valid[n] {
		case '"':
			n += stringLen(valid[n:])
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		n++
		if depth == 0 {
			return n
		}
	}
}

// text reads a valid JSON value that should be a string.
func text(valid []byte) (s string, err error) {
	if valid[0] == '"' && bytes.IndexByte(valid, '\\') < 0 {
		return string(valid[1 : len(valid)-1]), nil
	}
	err = json.Unmarshal(valid, &s)
	return s, err
}
