package backend

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/worker"
)

// Every operation type declares every part of itself. CONTRIBUTING.md says where
// each part is.
func TestTypes_EveryTypeDeclaresEveryPart(t *testing.T) {
	for _, missing := range missingParts(Types(), typeRunners(), routes(t)) {
		t.Error(missing)
	}
}

// missingParts says in a sentence what each type lacks.
func missingParts(types ktrdr.Types, runners map[ktrdr.Type]builders, routes []string) (all []string) {
	for _, name := range slices.Sorted(maps.Keys(runners)) {
		if !types.Known(name) {
			all = append(all, fmt.Sprintf("%s has runners and no definition: add it to the Types of the package that owns it", name))
		}
	}
	for _, name := range types.Names() {
		d, runs := types[name], runners[name]
		for _, part := range []struct {
			missing bool
			say     string
		}{
			{d.Spec == nil, "has no Spec: say which specs it refuses, with ktrdr.SpecOf"},
			{d.Plan == nil && len(runs) == 0, "has neither a Plan nor a runner: add a runner to typeRunners"},
			{d.Fingerprint == nil, "has no Fingerprint: say what a checkpoint must agree with, or ktrdr.NoFingerprint"},
			{d.Restart == "", "has no Restart: say what happens to it when its backend dies"},
			{
				(d.Restart == ktrdr.RestartNone) != (len(runs) == 0),
				"and its Restart disagree: ktrdr.RestartNone is for types without a runner, and only for them",
			},
			{(d.Restart == ktrdr.RestartInChild) != (runs[inChild] != nil), "has a runner for child processes, or restarts in one, but not both"},
			{
				len(runs) > 0 && d.Local != (runs[onWorker] == nil),
				"is Local and has a runner for workers, or has none and is not Local: work would wait for a worker that may not run it",
			},
			{len(runs) > 0 && runs[inBackend] == nil && runs[byAgents] == nil, "has no runner in a backend: one binary must be able to run it"},
			{d.Look && d.Ledger == nil, "makes a look and has no Ledger: what it showed would be lost"},
			{d.Route == "", "has no Route: name the route that starts one, or ktrdr.Inside"},
			{d.Route != "" && d.Route != ktrdr.Inside && !slices.Contains(routes, d.Route), "has a Route that the API does not: " + d.Route},
			{d.Verb == "" || (d.Verb == ktrdr.Inside) != (d.Route == ktrdr.Inside), "has no Verb for its Route: name the command that starts one"},
		} {
			if part.missing {
				all = append(all, fmt.Sprintf("%s %s", name, part.say))
			}
		}
	}
	return all
}

// routes are those of the API, such as "POST /api/v1/training/start".
func routes(t *testing.T) (all []string) {
	t.Helper()
	server, err := httpapi.New(httpapi.Config{Types: Types(), Hosts: []string{"ktrdr.test"}, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	server.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "http://ktrdr.test/api/v1/openapi.json", nil))
	var document struct {
		Paths map[string]map[string]any `json:"paths"`
	}
	if err := json.Unmarshal(answer.Body.Bytes(), &document); err != nil || len(document.Paths) == 0 {
		t.Fatalf("OpenAPI document: %v: %.200s", err, answer.Body)
	}
	for path, methods := range document.Paths {
		for method := range methods {
			all = append(all, strings.ToUpper(method)+" "+path)
		}
	}
	return all
}

// A part that is forgotten is named, each by its own sentence.
func TestTypes_AForgottenPartIsNamed(t *testing.T) {
	const name = ktrdr.Training
	for want, forget := range map[string]func(d *ktrdr.Definition, runs builders){
		"has no Spec":                   func(d *ktrdr.Definition, _ builders) { d.Spec = nil },
		"has neither a Plan nor a runn": func(_ *ktrdr.Definition, runs builders) { clear(runs) },
		"has no Fingerprint":            func(d *ktrdr.Definition, _ builders) { d.Fingerprint = nil },
		"has no Restart":                func(d *ktrdr.Definition, _ builders) { d.Restart = "" },
		"and its Restart disagree":      func(d *ktrdr.Definition, _ builders) { d.Restart = ktrdr.RestartNone },
		"has a runner for child":        func(d *ktrdr.Definition, _ builders) { d.Restart = ktrdr.RestartByPlan },
		"is Local and has a runner":     func(d *ktrdr.Definition, _ builders) { d.Local = true },
		"has no runner in a backend":    func(_ *ktrdr.Definition, runs builders) { delete(runs, inBackend) },
		"makes a look and has no Led":   func(d *ktrdr.Definition, _ builders) { d.Look, d.Ledger = true, nil },
		"has no Route":                  func(d *ktrdr.Definition, _ builders) { d.Route = "" },
		"has a Route that the API does": func(d *ktrdr.Definition, _ builders) { d.Route = "POST /api/v1/nothing" },
		"has no Verb":                   func(d *ktrdr.Definition, _ builders) { d.Verb = "" },
	} {
		types, runners := Types(), typeRunners()
		d := types[name]
		forget(&d, runners[name])
		types[name] = d
		missing := missingParts(types, runners, []string{d.Route, types[ktrdr.Dummy].Route})
		if want == "has a Route that the API does" {
			missing = missingParts(types, runners, nil)
		}
		if !slices.ContainsFunc(missing, func(s string) bool { return strings.HasPrefix(s, string(name)+" "+want) }) {
			t.Errorf("%q is not among %q", want, missing)
		}
	}
	types := Types()
	delete(types, name)
	if missing := missingParts(types, map[ktrdr.Type]builders{name: {}}, nil); !strings.Contains(missing[0], "no definition") {
		t.Errorf("a type without a definition: %q", missing)
	}
}

// An import that stored its bars is asked for its result instead of being run again.
// What is put around a runner must not hide that.
func TestTypes_AnImportIsConcludedInItsBackend(t *testing.T) {
	runner := (&Backend{}).runners(inBackend)[ktrdr.DataLoad]
	if _, ok := runner.(worker.Concluder); !ok {
		t.Errorf("the runner of imports is %T, want a worker.Concluder", runner)
	}
}
