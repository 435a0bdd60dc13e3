package instrument

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Bounds that are checked before the YAML parser runs, which is recursive.
const (
	maxTokens = 60_000
	maxDepth  = 8
)

// maxProblems is how many problems one error lists.
const maxProblems = 20

// fileParser collects what a file says and what is wrong with it.
type fileParser struct {
	name     string
	file     File
	problems []error
}

// bad adds a problem at a node.
func (p *fileParser) bad(n ast.Node, format string, args ...any) {
	var at *token.Position
	if t := beginning(n); t != nil {
		at = t.Position
	}
	p.badAt(at, format, args...)
}

func (p *fileParser) badAt(at *token.Position, format string, args ...any) {
	if len(p.problems) == maxProblems {
		return
	}
	line, column := 1, 1
	if at != nil {
		line, column = at.Line, at.Column
	}
	p.problems = append(p.problems, fmt.Errorf("%s:%d:%d: %s", p.name, line, column, fmt.Sprintf(format, args...)))
}

// beginning is the token that a node begins with. That of a block mapping is its
// first key, not the colon behind it.
func beginning(n ast.Node) *token.Token {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return beginning(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return beginning(m.Key)
	}
	if n == nil {
		return nil
	}
	return n.GetToken()
}

// document parses the text; nil where it is empty or has problems.
func (p *fileParser) document(text []byte) ast.Node {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
	if len(text) > maxBytes {
		p.badAt(nil, "the file is larger than %d KB, which is the most allowed", maxBytes>>10)
		return nil
	}
	if !utf8.Valid(text) || bytes.ContainsRune(text, 0) {
		p.badAt(nil, "the file is not text in UTF-8")
		return nil
	}
	tokens, err := tokenize(text)
	if err != nil {
		p.syntax(err)
		return nil
	}
	if !p.allowed(tokens) {
		return nil
	}
	file, err := parse(tokens)
	if err != nil {
		p.syntax(err)
		return nil
	}
	if len(file.Docs) > 1 {
		p.bad(file.Docs[1].Body, "a second document begins here; put everything into one")
		return nil
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.NullType {
		return nil
	}
	return file.Docs[0].Body
}

func tokenize(text []byte) (tokens token.Tokens, err error) {
	defer survive(&err)
	return lexer.Tokenize(string(text)), nil
}

func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer survive(&err)
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // mapping reports duplicates with both lines
}

// survive makes an error of a panic of the YAML parser: the file may hold
// anything, and a request must not end the backend.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the parser gave up: %v", p)
	}
}

// syntax reports an error of the YAML parser, without the excerpt that it draws.
func (p *fileParser) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		p.badAt(e.GetToken().Position, "this is not YAML: %s", e.GetMessage())
		return
	}
	p.badAt(nil, "this is not YAML: %v", err)
}

// refused are the features of YAML that the file must not use: with them it
// could mean something else than it shows.
var refused = map[token.Type]string{
	token.AnchorType:     "anchors (&) are not allowed; write the value out",
	token.AliasType:      "aliases (*) are not allowed; write the value out",
	token.MergeKeyType:   "merge keys (<<) are not allowed; write the keys out",
	token.TagType:        "tags (!) are not allowed; write the value plainly",
	token.DirectiveType:  "directives (%) are not allowed",
	token.MappingKeyType: "complex keys (?) are not allowed",
}

// allowed bounds the number of tokens and their nesting.
func (p *fileParser) allowed(tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		p.badAt(nil, "the file has %d words and signs; at most %d are allowed", len(tokens), maxTokens)
		return false
	}
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		if why, bad := refused[t.Type]; bad {
			p.badAt(t.Position, "%s", why)
			return false
		}
		if t.Position.Line != line {
			entries, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			flow++
		case token.SequenceEndType, token.MappingEndType:
			flow--
		case token.SequenceEntryType:
			entries++ // "- - - 1" nests without brackets
		}
		if flow > maxDepth || entries > maxDepth {
			p.badAt(t.Position, "values are nested more than %d deep here", maxDepth)
			return false
		}
	}
	return true
}

// valuesOf are the entries of a mapping; nil where n is not one.
func valuesOf(n ast.Node) []*ast.MappingValueNode {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}
	}
	return nil
}

// mapping calls each for every entry of a mapping, and reports what is not one,
// keys that are not text and keys given twice.
func (p *fileParser) mapping(n ast.Node, path string, each func(name string, at, value ast.Node)) {
	values := valuesOf(n)
	if values == nil {
		if m, ok := n.(*ast.MappingNode); !ok || len(m.Values) > 0 { // {} is a mapping without entries
			p.bad(n, "%sit must be a mapping (key: value), not %s", where(path), shown(n))
		}
		return
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

// textOf is the text of a node; false where it is not text.
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

// join is the path of a key below another.
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
