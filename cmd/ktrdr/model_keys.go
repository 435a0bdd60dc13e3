package main

import (
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// shortestKey tells keys from placeholders, such as a server of one's own asks
// for: those are words that a text may hold.
const shortestKey = 8

// keyless refuses texts that hold the key of a provider. They would be kept with
// the research for good, and sent to every model of the chain.
func (m Models) keyless(getenv func(string) string, texts ...string) error {
	for _, name := range m.Chain {
		provider, _, _ := strings.Cut(name, "/")
		key := getenv(keyName(provider))
		if len(key) >= shortestKey && slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, key) }) {
			return ktrdr.Errorf(ktrdr.CodeInvalid, "the request holds the key of %s, and would be kept and sent to models with it: take it out; the key belongs into %s alone",
				provider, keyName(provider))
		}
	}
	return nil
}
