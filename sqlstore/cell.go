package sqlstore

import (
	"encoding/json"
	"fmt"
	"strconv"
)

// cell is one value of a row, as a driver gives it and as a backup holds it.
type cell struct{ value any }

// wrapped is a value that JSON has no word of its own for.
type wrapped struct {
	Bytes []byte   `json:"b,omitempty"`
	Float *float64 `json:"f,omitempty"`
}

// MarshalJSON writes the value so that its type can be read back.
func (c cell) MarshalJSON() ([]byte, error) {
	switch v := c.value.(type) {
	case nil, string, int64:
		return json.Marshal(v)
	case bool:
		if v {
			return []byte("1"), nil
		}
		return []byte("0"), nil
	case []byte:
		return json.Marshal(wrapped{Bytes: v})
	case float64:
		return json.Marshal(wrapped{Float: &v})
	}
	return nil, fmt.Errorf("a backup has no place for a %T", c.value)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *cell) UnmarshalJSON(text []byte) error {
	switch text[0] {
	case 'n':
		c.value = nil
		return nil
	case '"':
		var s string
		err := json.Unmarshal(text, &s)
		c.value = s
		return err
	case '{':
		var w wrapped
		err := json.Unmarshal(text, &w)
		c.value = w.Bytes
		if w.Float != nil {
			c.value = *w.Float
		}
		if w.Float == nil && w.Bytes == nil {
			c.value = []byte{}
		}
		return err
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	c.value = n
	return err
}
