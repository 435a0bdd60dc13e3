package sqlstore

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

func TestSlots_AreReadAsTheyWereWritten(t *testing.T) {
	slot := func(version string, held bool) thread.Slot[ktrdr.Hash] {
		s := thread.Slot[ktrdr.Hash]{Version: version, Held: held}
		if held {
			s.Value = ktrdr.Hash{1, 2, 255}
		}
		return s
	}
	for name, want := range map[string]slots{
		"none":              {},
		"one":               {"a": slot("1", true)},
		"an empty channel":  {"a": slot("1", false), "b": slot("2", true), "c": slot("3", false)},
		"text for versions": {"a": slot(`"0001.5"`, true), `"\`: slot(`{"a":"\""}`, true)},
		"names to escape":   {"é\n": slot("1", true), "},": slot("2", true), `{"v":`: slot("3", false), "": slot("4", true)},
	} {
		text := encodeSlots(want)
		got, err := decodeSlots(text)
		if err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %s is read as %v, %v; want %v", name, text, got, err, want)
		}
		var std map[string]storedSlot // what it was read with before, and is in older rows
		if err := json.Unmarshal([]byte(text), &std); err != nil || len(std) != len(want) {
			t.Errorf("%s: %s is no JSON of them: %v", name, text, err)
		}
		older, err := json.Marshal(std)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := decodeSlots(string(older)); err != nil || !maps.Equal(got, want) {
			t.Errorf("%s: %s is read as %v, %v; want %v", name, older, got, err, want)
		}
	}
}

func TestSlots_DamageIsSaid(t *testing.T) {
	for _, text := range []string{
		``, `{`, `{"a"`, `{"a":{"v":"1"}`, `{"a":{"v":"1","h":"xyz"}}`, `{"a":{"v":"1"},}`, `[]`, `{"a":{"v":"1"}}}`,
	} {
		if got, err := decodeSlots(text); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			t.Errorf("%s is read as %v, %v; want code corrupt", text, got, err)
		}
	}
}
