package httpapi

import (
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
)

func TestTable_BindsEveryRouteOnce(t *testing.T) {
	var bound []string
	for _, row := range table() {
		bound = append(bound, row.about().Pattern())
	}
	for _, sp := range api.Table() {
		i := slices.Index(bound, sp.Pattern())
		if i < 0 {
			t.Errorf("api declares %s, and no row of the table answers it", sp.Pattern())
			continue
		}
		bound = slices.Delete(bound, i, i+1)
	}
	if len(bound) > 0 {
		t.Errorf("rows without a route, or bound twice: %q", bound)
	}
}

// A parameter is read from its place only: not also from the body, and each
// wildcard of a path has a field.
func TestTable_ParametersHaveOnePlace(t *testing.T) {
	for _, row := range table() {
		sp := row.about()
		in, _ := row.types()
		var path []string
		for _, p := range api.Params(in) {
			if p.In == api.InPath {
				path = append(path, "{"+p.Name+"}")
			}
		}
		for _, wildcard := range path {
			if !strings.Contains(sp.Path, wildcard) {
				t.Errorf("%s has no %s, which its request fills in", sp.Pattern(), wildcard)
			}
		}
		if n := strings.Count(sp.Path, "{"); n != len(path) {
			t.Errorf("%s has %d wildcards, and its request fills in %q", sp.Pattern(), n, path)
		}
		if sp.Method != http.MethodPost {
			continue
		}
		for _, f := range reflect.VisibleFields(in) {
			_, json := api.JSONName(f)
			for _, place := range []string{api.InPath, api.InQuery, api.InHeader} {
				if _, param := f.Tag.Lookup(place); param && json {
					t.Errorf("%s: %s is a parameter and a member of the body; tag it json:\"-\"", sp.Pattern(), f.Name)
				}
			}
		}
	}
}

func TestTable_TheLeaderboardTakesEverySort(t *testing.T) {
	for _, p := range api.Params(reflect.TypeFor[report.LeaderboardQuery]()) {
		if p.Name == "sort" && !slices.Equal(p.Names, text.Strings(report.Sorts)) {
			t.Errorf("sort takes %q, want %q", p.Names, report.Sorts)
		}
	}
}
