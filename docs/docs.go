// Package docs holds the pages of this folder, which `ktrdr help TOPIC` prints.
package docs

import (
	"embed"
	"strings"
)

//go:embed *.md
var pages embed.FS

// Topics are the names of the pages, in the order in which they are read.
var Topics = []string{
	"getting-started", "data", "files", "strategies", "research", "configuration", "operating", "security", "models", "assistant", "api",
	"troubleshooting", "glossary", "architecture", "formats", "differences", "faults",
}

// Page returns the text of a topic.
func Page(topic string) (text string, ok bool) {
	if topic == "architecture" {
		topic = "ARCHITECTURE"
	}
	b, err := pages.ReadFile(topic + ".md")
	return string(b), err == nil
}

// Summary returns the first sentence below the heading of a topic's page.
func Summary(topic string) string {
	text, _ := Page(topic)
	_, body, _ := strings.Cut(text, "\n\n")
	sentence, _, _ := strings.Cut(body, ".")
	return sentence
}
