package httpapi

import (
	"os"
	"regexp"
	"testing"
)

var docRoute = regexp.MustCompile("`(GET|HEAD|POST|PUT|DELETE) (/[^` ?]*)`")

// docs/api.md has every route, and no other.
func TestDocs_RoutesAreThoseOfTheServer(t *testing.T) {
	text, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for _, r := range table() {
		missing[r.about().Method+" "+r.about().Path] = true
	}
	exists := len(missing)
	for _, m := range docRoute.FindAllStringSubmatch(string(text), -1) {
		name := m[1] + " " + m[2]
		if _, ok := missing[name]; !ok {
			t.Errorf("docs/api.md names %s, which is no route", name)
			continue
		}
		missing[name] = false
	}
	for name, left := range missing {
		if left {
			t.Errorf("docs/api.md lacks %s", name)
		}
	}
	if exists == 0 {
		t.Error("there are no routes")
	}
}
