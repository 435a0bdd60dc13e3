package strategy

import (
	"fmt"
	"math"
	"regexp"
	"strconv"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/yamldoc"
)

var start = yamldoc.Position{Line: 1, Column: 1}

// node is a value of the document and the path that leads to it.
type node struct {
	ast  ast.Node
	path string
	at   yamldoc.Position // of its key, or of itself
}

// reader collects what is wrong while a document is read, and where the keys
// were that were given, so that rules about several of them can point at one.
type reader struct {
	file     string
	problems []Problem
	warnings []Warning
	keys     map[string]yamldoc.Position
}

func (r *reader) problemAt(at yamldoc.Position, path, message string) {
	if len(r.problems) < MaxProblems {
		r.problems = append(r.problems, Problem{r.file, at.Line, at.Column, path, message})
	}
}

func (r *reader) problem(n node, format string, args ...any) {
	r.problemAt(n.at, n.path, fmt.Sprintf(format, args...))
}

// problemOn reports at a key that was given, or at the nearest parent that was.
func (r *reader) problemOn(path, format string, args ...any) {
	r.problemAt(r.where(path), path, fmt.Sprintf(format, args...))
}

func (r *reader) warnOn(path, format string, args ...any) {
	at := r.where(path)
	r.warnings = append(r.warnings, Warning{r.file, at.Line, at.Column, path, fmt.Sprintf(format, args...)})
}

// idle warns of a key that was given and that nothing will use.
func (r *reader) idle(path, why string) {
	if r.given(path) {
		r.warnOn(path, "it has no effect: %s", why)
	}
}

func (r *reader) given(path string) bool { _, ok := r.keys[path]; return ok }

func (r *reader) where(path string) yamldoc.Position {
	for p := path; p != ""; p = parent(p) {
		if at, ok := r.keys[p]; ok {
			return at
		}
	}
	return start
}

// parent is the path without its last key or index.
func parent(path string) string {
	for i := len(path) - 1; i >= 0; i-- {
		if path[i] == '.' || path[i] == '[' {
			return path[:i]
		}
	}
	return ""
}

func child(path, key string) string {
	if path == "" {
		return key
	}
	return path + "." + key
}

type pair struct {
	key   string
	value node
}

// mapping returns the pairs of a mapping in order. It refuses keys that are
// not text and keys that were there before.
func (r *reader) mapping(n node) ([]pair, bool) {
	values, ok := yamldoc.Entries(n.ast)
	if !ok {
		r.problem(n, "it must be a mapping (key: value), and is %s", kindOf(n.ast))
		return nil, false
	}
	pairs := make([]pair, 0, len(values))
	seen := make(map[string]yamldoc.Position, len(values))
	for _, v := range values {
		at := yamldoc.PositionOf(v.Key)
		key, ok := plainText(v.Key)
		if !ok {
			r.problemAt(at, n.path, fmt.Sprintf("the key %s is not text; put it in quotes", v.Key.GetToken().Value))
			continue
		}
		path := child(n.path, key)
		if first, twice := seen[key]; twice {
			r.problemAt(at, path, fmt.Sprintf("the key is given twice, first in line %d", first.Line))
			continue
		}
		seen[key], r.keys[path] = at, at
		pairs = append(pairs, pair{key, node{v.Value, path, at}})
	}
	return pairs, true
}

func (r *reader) sequence(n node) ([]node, bool) {
	s, ok := n.ast.(*ast.SequenceNode)
	if !ok {
		r.problem(n, "it must be a list, and is %s", kindOf(n.ast))
		return nil, false
	}
	items := make([]node, len(s.Values))
	for i, v := range s.Values {
		path := fmt.Sprintf("%s[%d]", n.path, i)
		items[i] = node{v, path, yamldoc.PositionOf(v)}
		r.keys[path] = items[i].at
	}
	return items, true
}

// text reads text. A number or a word like true must be in quotes to be text.
func (r *reader) text(n node) (string, bool) {
	s, ok := plainText(n.ast)
	if !ok {
		r.problem(n, "it must be text, and is %s%s", kindOf(n.ast), quoteHint(n.ast))
	}
	return s, ok
}

func plainText(n ast.Node) (string, bool) {
	switch s := n.(type) {
	case *ast.StringNode:
		return s.Value, true
	case *ast.LiteralNode:
		return s.Value.Value, true
	}
	return "", false
}

func quoteHint(n ast.Node) string {
	switch n.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return `; put it in quotes: "` + n.GetToken().Value + `"`
	}
	return ""
}

// decimal is a number as people write it: what the parser takes for text when
// there is an exponent without a point.
var decimal = regexp.MustCompile(`^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$`)

// isNumeral says whether a value is written as a number, without quotes.
func isNumeral(n ast.Node) bool {
	t := n.GetToken()
	return t.Type != token.DoubleQuoteType && t.Type != token.SingleQuoteType && decimal.MatchString(t.Value)
}

func (r *reader) number(n node) (float64, bool) {
	x, ok := math.NaN(), false
	switch v := n.ast.(type) {
	case *ast.IntegerNode, *ast.FloatNode, *ast.StringNode:
		t := v.GetToken()
		if t.Type == token.OctetIntegerType || t.Type == token.HexIntegerType || t.Type == token.BinaryIntegerType {
			r.problem(n, "%s is not a decimal number; write it without a leading 0", t.Value)
			return 0, false
		}
		if isNumeral(v) {
			f, err := strconv.ParseFloat(t.Value, 64)
			x, ok = f, err == nil
		}
	}
	switch {
	case ok:
		return x + 0, true // -0 is 0
	case x == x:
		r.problem(n, "%s is beyond what a number can hold", n.ast.GetToken().Value)
	default:
		r.problem(n, "it must be a finite number, and is %s", kindOf(n.ast))
	}
	return 0, false
}

// kindOf names what a value is, for a message that wanted something else.
func kindOf(n ast.Node) string {
	switch v := n.(type) {
	case nil, *ast.NullNode:
		return "empty"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.SequenceNode:
		return "a list"
	case *ast.StringNode:
		return "the text " + strconv.Quote(shorten(v.Value))
	case *ast.LiteralNode:
		return "a block of text"
	case *ast.BoolNode, *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return n.GetToken().Value
	}
	return "something that a strategy does not use"
}

func shorten(s string) string { return text.Cut(s, 40) }

// suggest ends a message about an unknown name: with the nearest known one, or
// with all of them when none is near and they are few.
func suggest(name string, known []string) string {
	if hint := near(name, known); hint != "" || len(known) == 0 || len(known) > 16 {
		return hint
	}
	return "; there is " + text.Join(known)
}

// near suggests the nearest known name, if one is near.
func near[T ~string](name string, known []T) string {
	if nearest := text.Nearest(name, text.Strings(known)); nearest != "" {
		return "; did you mean " + nearest + "?"
	}
	return ""
}
