package sqlstore

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// storedSlot is a slot as it is written in the row.
type storedSlot struct {
	Version string `json:"v"`
	Hash    string `json:"h,omitempty"`
}

// encodeSlots writes slots as JSON, channels in order. Every put does it, and
// mostly there is nothing to escape.
func encodeSlots(s slots) string {
	text := make([]byte, 0, 2+128*len(s))
	sign := byte('{')
	for _, channel := range slices.Sorted(maps.Keys(s)) {
		text = appendQuoted(append(text, sign), channel)
		text = appendQuoted(append(text, `:{"v":`...), s[channel].Version)
		if slot := s[channel]; slot.Held {
			text = appendQuoted(append(text, `,"h":`...), slot.Value.String())
		}
		text = append(text, '}')
		sign = ','
	}
	if len(s) == 0 {
		text = append(text, sign)
	}
	return string(append(text, '}'))
}

func appendQuoted(text []byte, s string) []byte {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r > '~' }) {
		quoted, _ := json.Marshal(s) // a string always marshals
		return append(text, quoted...)
	}
	return append(append(append(text, '"'), s...), '"')
}

func decodeSlots(text string) (slots, error) {
	in, ok := cutSlots(text)
	if !ok {
		if err := json.Unmarshal([]byte(text), &in); err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "slots of a checkpoint: %w", err)
		}
	}
	out := make(slots, len(in))
	for channel, one := range in {
		slot := thread.Slot[ktrdr.Hash]{Version: one.Version, Held: one.Hash != ""}
		if slot.Held {
			h, err := ktrdr.ParseHash(one.Hash)
			if err != nil {
				return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "slot of channel %q: %w", channel, err)
			}
			slot.Value = h
		}
		out[channel] = slot
	}
	return out, nil
}

// cutSlots cuts up what encodeSlots wrote, when nothing in it is escaped. It is
// not ok when there is anything that it does not know for sure.
func cutSlots(text string) (map[string]storedSlot, bool) {
	if strings.IndexByte(text, '\\') >= 0 || !strings.HasPrefix(text, `{"`) {
		return nil, false
	}
	found := make(map[string]storedSlot)
	for rest := text[1:]; ; rest = rest[1:] {
		channel, tail, ok := cutQuoted(rest, `"`)
		if !ok {
			return nil, false
		}
		var one storedSlot
		if one.Version, tail, ok = cutQuoted(tail, `:{"v":"`); !ok {
			return nil, false
		}
		if strings.HasPrefix(tail, ",") {
			if one.Hash, tail, ok = cutQuoted(tail, `,"h":"`); !ok {
				return nil, false
			}
		}
		found[channel] = one
		switch {
		case tail == "}}":
			return found, true
		case !strings.HasPrefix(tail, "},"):
			return nil, false
		}
		rest = tail[1:]
	}
}

// cutQuoted takes the given beginning and a string without escapes, up to its
// closing quote, from text.
func cutQuoted(text, begin string) (s, rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, begin)
	if !ok {
		return "", "", false
	}
	return strings.Cut(rest, `"`)
}
