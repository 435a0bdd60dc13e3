package llm

import (
	"cmp"
	"encoding/json"
	"strconv"
)

// complaint is an error in a provider's own words.
type complaint struct {
	kind    string // its class of errors
	code    string // its name of this one
	status  int    // where the code is a number
	message string
}

// readComplaint finds what a body says of an error, in any of the forms in use:
// an object with type, code and message under "error", the same at the top, or
// a bare string. Any other body is the message.
func readComplaint(text []byte) complaint {
	type fields struct {
		Type    json.RawMessage `json:"type"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
	}
	var body struct {
		fields
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(text, &body) != nil {
		return complaint{message: string(text)}
	}
	f := body.fields
	if len(body.Error) > 0 && json.Unmarshal(body.Error, &f) != nil {
		return complaint{message: word(body.Error)}
	}
	c := complaint{kind: word(f.Type), code: word(f.Code), message: word(f.Message)}
	if n, err := strconv.Atoi(c.code); err == nil {
		c.status, c.code = n, ""
	}
	c.message = cmp.Or(c.message, string(text))
	return c
}

// word is a JSON string or number as text; anything else is nothing.
func word(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	var n json.Number
	if json.Unmarshal(raw, &n) == nil {
		return n.String()
	}
	return ""
}
