package main

import (
	"encoding/json"
	"testing"
)

func TestResearchFigures_KeepsOnlyNumbers(t *testing.T) {
	var f researchFigures
	err := json.Unmarshal([]byte(`{"a":1.5,"b":null,"c":true,"d":"x","e":[1],"symbols":[{"symbol":"X"}]}`), &f)
	if n := f.figures; err != nil || len(n) != 2 || *n["a"] != 1.5 || n["b"] != nil || len(f.symbols) != 1 || f.symbols[0].Symbol != "X" {
		t.Errorf("%+v, %v, want a, an undefined b and the symbol", f, err)
	}
}
