package strategy_test

import (
	"encoding/json"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ktrdr/ktrdr/strategy"
)

func resolved(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(strategy.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// validate judges YAML by the schema alone.
func validate(t *testing.T, r *jsonschema.Resolved, src string) error {
	t.Helper()
	asJSON, err := yaml.YAMLToJSON([]byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var v any
	if err := json.Unmarshal(asJSON, &v); err != nil {
		t.Fatal(err)
	}
	return r.Validate(v)
}

func TestSchema_AcceptsWhatParseAccepts(t *testing.T) {
	r := resolved(t)
	sources := map[string]string{}
	for _, e := range strategy.Examples() {
		sources[e.Name] = string(e.Source)
	}
	for _, file := range []string{"testdata/bench_tb.yaml", "testdata/bench_zz.yaml"} {
		sources[file] = source(t, file)
	}
	for name, src := range sources {
		if err := validate(t, r, src); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err := validate(t, r, string(parse(t, src).YAML())); err != nil {
			t.Errorf("%s, written out: %v", name, err)
		}
	}
}

func TestSchema_RefusesSlips(t *testing.T) {
	r := resolved(t)
	if err := validate(t, r, changed(t, "1e-3", "0.001")); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][]string{
		"a key misspelt":                   {"epochs: 40", "epoch: 40"},
		"a section misspelt":               {"decisions:", "decision:"},
		"an indicator that does not exist": {"type: rsi", "type: rsy"},
		"a parameter it does not have":     {"{type: adx, period: 14}", "{type: adx, length: 14}"},
		"a parameter out of bounds":        {"{type: adx, period: 14}", "{type: adx, period: 1000000}"},
		"a membership of four numbers":     {"[0, 25, 40]", "[0, 25, 40, 50]"},
		"a parameter of other labels":      {"vol_span: 50", "horizon: 50"},
		"text for a number":                {"epochs: 40", "epochs: many"},
		"a key that is refused":            {"dropout: 0.2", "output_activation: softmax"},
		"a recurrent key in an mlp":        {"dropout: 0.2", "sequence_length: 20"},
		"a fuzzy set without indicator":    {"    indicator: rsi_14\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if err := validate(t, r, changed(t, append([]string{"1e-3", "0.001"}, change...)...)); err == nil {
				t.Error("the schema accepts it")
			}
		})
	}
}
