package view

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
)

// Conversation prints what a research and models said to each other.
func Conversation(w io.Writer, p term.Palette, c agent.Conversation) {
	if len(c.Talks) == 0 {
		fmt.Fprintf(w, "%s asked no model: the built-in designer made it.\n", c.Operation)
		return
	}
	for i, t := range c.Talks {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s %s: %s to %s, %d tokens in, %d out, $%.4f", t.Type, t.Operation.Tail(),
			text.Counted(t.Calls, "call"), term.Plain(strings.Join(t.Models, ", ")), t.Input, t.Output, t.USD)
		if t.Failed > 0 {
			fmt.Fprintf(w, ", %d failed", t.Failed)
		}
		if t.Prompt != "" {
			fmt.Fprintf(w, ", prompt %s", term.Plain(t.Prompt))
		}
		fmt.Fprintln(w)
		if !t.Complete {
			fmt.Fprintln(w, "What was asked is no longer kept: its checkpoint was deleted. These are the answers.")
		}
		for _, turn := range t.Turns {
			printTurn(w, p, turn)
		}
	}
}

func printTurn(w io.Writer, p term.Palette, t agent.Turn) {
	head := t.Role
	switch {
	case t.Tool != "":
		head += " uses " + t.Tool
	case t.Error:
		head += " refuses"
	}
	fmt.Fprintf(w, "\n%s\n", p.Paint("1", term.Plain(head)))
	text := t.Text
	if t.Tool != "" {
		text = inputText(t.Input)
	}
	for line := range strings.Lines(strings.TrimRight(text, "\n")) {
		fmt.Fprintf(w, "  %s\n", term.Plain(strings.TrimRight(line, "\r\n")))
	}
}

// inputText is a tool's input for people: texts of several lines as such, all
// else as JSON.
func inputText(input json.RawMessage) string {
	var fields map[string]json.RawMessage
	if json.Unmarshal(input, &fields) != nil {
		return string(input)
	}
	var b strings.Builder
	d := json.NewDecoder(bytes.NewReader(input))
	_, _ = d.Token() // the object was read before
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return string(input)
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return string(input)
		}
		var text string
		if json.Unmarshal(value, &text) != nil {
			text = string(value)
		}
		if strings.Contains(text, "\n") {
			text = "\n" + text
		}
		fmt.Fprintf(&b, "%v: %s\n", name, text)
	}
	return b.String()
}
