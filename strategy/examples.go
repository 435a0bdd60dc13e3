package strategy

import (
	"embed"
	"path"
	"strings"
)

//go:embed examples/*.yaml
var exampleFiles embed.FS

// Example is a strategy that comes with the program.
type Example struct {
	Name   string
	Source []byte // YAML, with comments
}

// Examples lists the strategies that come with the program, by name.
func Examples() []Example {
	entries, err := exampleFiles.ReadDir("examples")
	if err != nil {
		panic("strategy: the embedded examples: " + err.Error())
	}
	out := make([]Example, len(entries))
	for i, e := range entries {
		src, err := exampleFiles.ReadFile(path.Join("examples", e.Name()))
		if err != nil {
			panic("strategy: the embedded examples: " + err.Error())
		}
		out[i] = Example{strings.TrimSuffix(e.Name(), ".yaml"), src}
	}
	return out
}
