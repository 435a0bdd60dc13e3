package instrument

import (
	"fmt"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/ktrdr/ktrdr/internal/yamldoc"
)

const maxProblems = 20

// fileParser collects what a file says and what is wrong with it.
type fileParser struct {
	name     string
	file     File
	venues   map[string]*Session
	placed   []placedIn
	problems []error
}

// placedIn is a symbol and the node that names its venue.
type placedIn struct {
	symbol string
	venue  ast.Node
}

func (p *fileParser) bad(n ast.Node, format string, args ...any) {
	p.badAt(yamldoc.PositionOf(n), fmt.Sprintf(format, args...))
}

func (p *fileParser) badAt(at yamldoc.Position, message string) {
	if len(p.problems) < maxProblems {
		p.problems = append(p.problems, fmt.Errorf("%s:%d:%d: %s", p.name, at.Line, at.Column, message))
	}
}

// mapping calls each for every entry of a mapping, and reports what is not one,
// keys that are not text and keys given twice.
func (p *fileParser) mapping(n ast.Node, path string, each func(name string, at, value ast.Node)) {
	values, ok := yamldoc.Entries(n)
	if !ok {
		p.bad(n, "%sit must be a mapping (key: value), not %s", where(path), shown(n))
	}
	lines := make(map[string]int, len(values))
	for _, v := range values {
		name, ok := textOf(v.Key)
		if !ok {
			p.bad(v.Key, "%sthe key %s is not text; put it in quotes", where(path), shown(v.Key))
			continue
		}
		if first, twice := lines[name]; twice {
			p.bad(v.Key, "%s%.60s is given twice, first in line %d", where(path), name, first)
			continue
		}
		lines[name] = v.Key.GetToken().Position.Line
		each(name, v.Key, v.Value)
	}
}

func textOf(n ast.Node) (string, bool) {
	s, ok := n.(*ast.StringNode)
	if !ok {
		return "", false
	}
	return s.Value, true
}

// numberOf is a number as it is written; "" where n is not a number. The parser
// takes 1e-3 for text, so text without quotes counts too.
func numberOf(n ast.Node) string {
	t := n.GetToken()
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
	default:
		return ""
	}
	if t.Type == token.DoubleQuoteType || t.Type == token.SingleQuoteType {
		return ""
	}
	return t.Value
}

// shown describes a value in a message that asked for another.
func shown(n ast.Node) string {
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return fmt.Sprintf("%.60q", v.Value)
	}
	return fmt.Sprintf("%.60s", n.GetToken().Value)
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// where begins a message about a key below the top.
func where(path string) string {
	if path == "" {
		return ""
	}
	return fmt.Sprintf("%.120s: ", path)
}
