package llm

import (
	"math"
	"strconv"
)

// tokens is a count as a server states it. One that is no count, as 1.5 or a
// word, makes the usage unknown and leaves the answer what it is: that was paid
// for.
type tokens int64

const noCount tokens = math.MinInt32

// UnmarshalJSON takes any value.
func (t *tokens) UnmarshalJSON(text []byte) error {
	if string(text) == "null" {
		return nil
	}
	*t = noCount
	if n, err := strconv.ParseInt(string(text), 10, 64); err == nil && n >= 0 && n <= maxTokens {
		*t = tokens(n)
	}
	return nil
}
