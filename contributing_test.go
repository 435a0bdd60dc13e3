package ktrdr_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

var recipeFile = regexp.MustCompile("(?m)^- `([^`]+)`")

// The six recipes of CONTRIBUTING.md name files that exist, at most six each.
func TestContributing_NamesFilesThatExist(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	recipes := strings.Split(string(text), "\n## Add ")[1:]
	if len(recipes) != 6 {
		t.Errorf("there are %d recipes, want 6", len(recipes))
	}
	for _, recipe := range recipes {
		title, _, _ := strings.Cut(recipe, "\n")
		files := recipeFile.FindAllStringSubmatch(recipe, -1)
		if len(files) == 0 || len(files) > 6 {
			t.Errorf("add %s: it lists %d files, want 1 to 6; write each as \"- `path`: what to change\"", title, len(files))
		}
		for _, f := range files {
			if _, err := os.Stat(f[1]); err != nil {
				t.Errorf("add %s: %v; name the file where this is now", title, err)
			}
		}
	}
}

// An operation type is added in at most six files. The recipe takes the dummy type
// as its example, so each file names it.
func TestContributing_AnOperationTypeIsSixFiles(t *testing.T) {
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	_, recipe, _ := strings.Cut(string(text), "## Add an operation type")
	recipe, _, _ = strings.Cut(recipe, "\n## ")
	files := recipeFile.FindAllStringSubmatch(recipe, -1)
	if len(files) == 0 || len(files) > 6 {
		t.Errorf("the recipe lists %d files, want 1 to 6", len(files))
	}
	for _, f := range files {
		content, err := os.ReadFile(f[1])
		if err != nil || !strings.Contains(strings.ToLower(string(content)), "dummy") {
			t.Errorf("%s does not name the dummy type (%v): the recipe is out of date", f[1], err)
		}
	}
}
