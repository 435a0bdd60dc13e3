package strategy

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/internal/yamldoc"
)

// limits of a file: a strategy of a hundred indicators has some 5,000 tokens.
var limits = yamldoc.Limits{What: "a strategy", Bytes: 256 << 10, Tokens: 20_000, Depth: 16}

// Parse reads a strategy in YAML. name is the file's name, for messages. When something
// is wrong the error is a Problems with all of it; warnings come in either case.
func Parse(src []byte, name string) (*Strategy, []Warning, error) {
	r := &reader{file: name, keys: map[string]yamldoc.Position{}}
	s := new(Strategy)
	s.setDefaults()
	switch root, wrong := yamldoc.Parse(src, limits); {
	case wrong != nil:
		r.problemAt(wrong.Position, "", wrong.Message)
	case root == nil:
		r.problemAt(start, "", "the file is empty")
	default:
		s.read(r, node{root, "", start})
	}
	if len(r.problems) > 0 {
		return nil, r.warnings, Problems(sorted(r.problems))
	}
	return s, r.warnings, nil
}

func (s *Strategy) read(r *reader, root node) {
	if at, old := isVersion2(root.ast); old {
		r.problemAt(at, "indicators",
			"this is a strategy of version 2. In version 3, indicators is a mapping from a name of your own to its type and parameters (rsi_14: "+
				"{type: rsi, period: 14}; feature_id is gone); each of fuzzy_sets names its indicator (indicator: rsi_14); nn_inputs lists what the "+
				"network sees ({fuzzy_set: rsi_zone, timeframes: all}); model.training moves to training; version is \"3.0\"")
		return
	}
	s.grammar().read(r, root)
	s.resolve(r)
}

// isVersion2 recognises the grammar before this one: its indicators are a list.
func isVersion2(root ast.Node) (yamldoc.Position, bool) {
	m, ok := root.(*ast.MappingNode)
	if !ok {
		return yamldoc.Position{}, false
	}
	for _, v := range m.Values {
		if key, _ := plainText(v.Key); key == "indicators" {
			_, isList := v.Value.(*ast.SequenceNode)
			return yamldoc.PositionOf(v.Key), isList
		}
	}
	return yamldoc.Position{}, false
}
