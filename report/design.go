package report

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr/strategy"
)

// DesignField is a field of a strategy with its value as text.
type DesignField struct {
	Path  string `json:"path"` // as in training.optimizer.learning_rate
	Value string `json:"value"`
}

// DesignDifference is a field in which designs differ.
type DesignDifference struct {
	Path   string   `json:"path"`
	Values []string `json:"values"` // of each design, in their order; empty: it has no such field
}

// differences compares the texts of strategies field by field, with everything
// spelled out. A text that cannot be read has no fields.
func differences(designs []string) ([]DesignDifference, []DesignField) {
	fields := make([]map[string]string, len(designs))
	all := map[string]bool{}
	for i, text := range designs {
		fields[i] = designFields(text)
		for path := range fields[i] {
			all[path] = true
		}
	}
	different, same := []DesignDifference{}, []DesignField{}
	for _, path := range slices.Sorted(maps.Keys(all)) {
		values := make([]string, len(fields))
		for i := range fields {
			values[i] = fields[i][path]
		}
		if len(slices.Compact(slices.Clone(values))) == 1 {
			same = append(same, DesignField{path, values[0]})
			continue
		}
		different = append(different, DesignDifference{path, values})
	}
	return different, same
}

// named are the parts of a strategy whose entries have names of their own: an
// entry is one field.
var named = []string{"indicators", "fuzzy_sets"}

// label fields say what a strategy is called, not what it is.
var labels = []string{"name", "description", "version"}

func designFields(text string) map[string]string {
	fields := map[string]string{}
	s, _, err := strategy.Parse([]byte(text), "design")
	if err != nil {
		return fields
	}
	var tree map[string]any
	if json.Unmarshal(s.JSON(), &tree) != nil {
		return fields
	}
	for key, value := range tree {
		if !slices.Contains(labels, key) {
			flatten(fields, key, value, slices.Contains(named, key))
		}
	}
	return fields
}

// flatten writes the leaves of a tree by their paths. A list is a leaf. entries
// says that what stands one level below is a leaf, too.
func flatten(to map[string]string, path string, value any, entries bool) {
	branch, ok := value.(map[string]any)
	if !ok {
		to[path] = leaf(value)
		return
	}
	for key, below := range branch {
		if entries {
			to[path+"."+key] = leaf(below)
			continue
		}
		flatten(to, path+"."+key, below, false)
	}
}

// leaf writes a value on one line: "rsi, period 36".
func leaf(value any) string {
	switch v := value.(type) {
	case map[string]any:
		var parts []string
		if kind, ok := v["type"]; ok {
			parts = append(parts, leaf(kind))
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if key != "type" {
				parts = append(parts, key+" "+leaf(v[key]))
			}
		}
		return strings.Join(parts, ", ")
	case []any:
		parts, between := make([]string, len(v)), " "
		for i, x := range v {
			parts[i] = leaf(x)
			if _, ok := x.(map[string]any); ok {
				between = "; "
			}
		}
		return strings.Join(parts, between)
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64)
	case string:
		return v
	case nil:
		return "none"
	case bool:
		if v {
			return "yes"
		}
		return "no"
	}
	return ""
}
