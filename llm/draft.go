package llm

import (
	"encoding/hex"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/resilience"
)

// Bounds of an answer.
const (
	maxText      = 128 << 10 // bytes of the text and of all inputs of tools together
	maxToolCalls = 32
	maxWord      = 128 // of names
)

// draft is an answer that is still being read.
type draft struct {
	client *client
	text   strings.Builder
	calls  []*draftCall
	size   int

	stop    string // empty until the server said that it is done
	refused bool   // for what was asked, by policy
	usage   *Usage // the last that was stated; not known when one of them was no count
	model   string
	id      string
}

type draftCall struct {
	id, name string
	input    strings.Builder
}

// write adds to the text or to the input of a call.
func (d *draft) write(to *strings.Builder, text string) error {
	if d.size += len(text); d.size > maxText {
		return d.client.garbage("the answer is longer than %d bytes", maxText)
	}
	to.WriteString(text)
	return nil
}

func (d *draft) call(id, name string) (*draftCall, error) {
	if len(d.calls) == maxToolCalls {
		return nil, d.client.garbage("it asks for more than %d tools at once", maxToolCalls)
	}
	if len(name) > maxWord || len(id) > maxLine {
		return nil, d.client.garbage("it asks for a tool whose name is longer than %d bytes", maxWord)
	}
	c := &draftCall{id: id, name: name}
	d.calls = append(d.calls, c)
	return c, nil
}

// counted takes a usage that the server states. One that it takes back later was
// a count; one that never was a count tells that it does not know.
func (d *draft) counted(u Usage) {
	if _, before := Cost(&Price{}, d.usage); d.usage == nil || before {
		d.usage = &u
	}
}

// ended decides about a stream that ended with err. What is whole is kept,
// whatever happened after: it is paid for.
func (d *draft) ended(r Request, err error) (Answer, error) {
	if d.stop == "" {
		return Answer{}, fmt.Errorf("within the answer: %w", err)
	}
	return d.finish(r)
}

// finish makes an answer of a draft that is whole.
func (d *draft) finish(r Request) (Answer, error) {
	c := d.client
	if d.refused {
		return Answer{}, &resilience.Error{
			Kind: resilience.KindRefused, ProviderCode: c.shown(d.stop),
			Err: fmt.Errorf("%s: the model's policy does not allow what was asked", c.cfg.Name),
		}
	}
	a := Answer{
		Text: c.kept(d.text.String()), Stop: c.shown(d.stop), Usage: d.usage,
		Model: c.shown(d.model), RequestID: c.shown(d.id),
	}
	if _, counted := Cost(&Price{}, a.Usage); !counted {
		a.Usage = nil // no count of tokens is negative or astronomic
	}
	seen := make(map[string]bool)
	for i, call := range d.calls {
		input, err := object([]byte(call.input.String()), c.kept)
		if err != nil {
			return Answer{}, c.garbage("the input of tool %s is not a JSON object: %w", c.shown(call.name), err)
		}
		name := c.kept(call.name)
		if name == "" {
			return Answer{}, c.garbage("it asks for a tool without a name")
		}
		id := c.hide(call.id)
		if !portable.MatchString(id) || seen[id] {
			id = madeUp(r, i)
		}
		seen[id] = true
		a.ToolCalls = append(a.ToolCalls, ToolCall{ID: id, Name: name, Input: input})
	}
	if a.Text == "" && len(a.ToolCalls) == 0 {
		return Answer{}, c.garbage("the answer is empty")
	}
	return a, nil
}

// portable are the ids of tool calls that every server takes back: the next
// turn may go to another one.
var portable = regexp.MustCompile(`^[A-Za-z0-9_-]{1,40}$`)

// madeUp is an id for a call that came without a usable one, the same for the
// same conversation and no other's.
func madeUp(r Request, n int) string {
	key := r.Key()
	return fmt.Sprintf("call_%s_%d", hex.EncodeToString(key[:8]), n)
}

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
