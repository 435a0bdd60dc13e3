// Package yamldoc parses YAML that a person wrote, within bounds. What could make
// a file mean something else than it shows (anchors, aliases, merges, tags) is
// refused. Duplicate keys are left to the caller, which can name them all.
package yamldoc

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

// Limits bound a file. The parser is recursive, and its time grows with the
// square of the number of keys in a mapping: both are bounded on the tokens,
// before it runs.
type Limits struct {
	What                 string // the file holds, in messages: "a strategy"
	Bytes, Tokens, Depth int
}

// Position is a place in a text, from 1.
type Position struct{ Line, Column int }

// FileError is what is wrong with a file, and where.
type FileError struct {
	Position
	Message string
}

// Parse returns the root of the one document of a file; nil where it is empty.
func Parse(src []byte, l Limits) (ast.Node, *FileError) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if len(src) > l.Bytes {
		return nil, wrong(nil, "the file is larger than %d KB, which is the most for %s", l.Bytes>>10, l.What)
	}
	if at := invalidText(src); at >= 0 {
		p := token.Position{Line: 1 + bytes.Count(src[:at], []byte("\n")), Column: at - bytes.LastIndexByte(src[:at], '\n')}
		return nil, wrong(&p, "there is a byte here that is not text in UTF-8")
	}
	tokens, err := tokenize(src)
	if err != nil {
		return nil, syntax(err)
	}
	if problem := l.check(tokens); problem != nil {
		return nil, problem
	}
	file, err := parse(tokens)
	switch {
	case err != nil:
		return nil, syntax(err)
	case len(file.Docs) > 1:
		return nil, &FileError{PositionOf(file.Docs[1].Body), "a second document begins here; a file holds one"}
	case len(file.Docs) == 0:
		return nil, nil
	}
	return file.Docs[0].Body, nil
}

func wrong(at *token.Position, format string, args ...any) *FileError {
	if at == nil {
		at = &token.Position{Line: 1, Column: 1}
	}
	return &FileError{Position{at.Line, at.Column}, fmt.Sprintf(format, args...)}
}

// syntax is the parser's error without the excerpt it draws.
func syntax(err error) *FileError {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		return wrong(e.GetToken().Position, "this is not YAML: %s", e.GetMessage())
	}
	return wrong(nil, "this is not YAML: %v", err)
}

// invalidText finds the first byte that is no text: not UTF-8, or a control
// character that YAML does not allow.
func invalidText(src []byte) int {
	for i := 0; i < len(src); {
		c, size := utf8.DecodeRune(src[i:])
		if c == utf8.RuneError && size == 1 || c < ' ' && c != '\t' && c != '\n' && c != '\r' {
			return i
		}
		i += size
	}
	return -1
}

func tokenize(src []byte) (tokens token.Tokens, err error) {
	defer survive(&err)
	return lexer.Tokenize(string(src)), nil
}

func parse(tokens token.Tokens) (file *ast.File, err error) {
	defer survive(&err)
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
}

// survive makes an error of a panic of the parser: the text comes from anywhere.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the parser gave up: %v", p)
	}
}

var refused = map[token.Type]string{
	token.AnchorType:     "anchors (&) are not allowed; write the value out",
	token.AliasType:      "aliases (*) are not allowed; write the value out",
	token.MergeKeyType:   "merge keys (<<) are not allowed; write the keys out",
	token.TagType:        "tags (!) are not allowed; write the value plainly, in quotes if it is text",
	token.DirectiveType:  "directives (%) are not allowed",
	token.MappingKeyType: "complex keys (?) are not allowed",
}

func (l Limits) check(tokens token.Tokens) *FileError {
	if len(tokens) > l.Tokens {
		return wrong(nil, "the file has %d words and signs; %s has at most %d", len(tokens), l.What, l.Tokens)
	}
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		if why, is := refused[t.Type]; is {
			return wrong(t.Position, "%s", why)
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
		// Nesting by indentation takes a column a level, so that the size bounds it.
		if flow > l.Depth || entries > l.Depth {
			return wrong(t.Position, "values are nested more than %d deep here", l.Depth)
		}
	}
	return nil
}

// PositionOf is where a value begins. A block mapping begins at its first key,
// not at the colon behind it.
func PositionOf(n ast.Node) Position {
	switch m := n.(type) {
	case *ast.MappingNode:
		if len(m.Values) > 0 && !m.IsFlowStyle {
			return PositionOf(m.Values[0].Key)
		}
	case *ast.MappingValueNode:
		return PositionOf(m.Key)
	}
	if n == nil || n.GetToken() == nil || n.GetToken().Position == nil {
		return Position{1, 1}
	}
	p := n.GetToken().Position
	return Position{p.Line, p.Column}
}

// Entries are the entries of a mapping; false where n is not one.
func Entries(n ast.Node) ([]*ast.MappingValueNode, bool) {
	switch m := n.(type) {
	case *ast.MappingNode:
		return m.Values, true
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{m}, true
	}
	return nil, false
}
