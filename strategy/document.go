package strategy

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

// What a document may be. The parser is recursive, and its time grows with the
// square of the number of keys in a mapping: both are bounded on the tokens,
// before it runs. A strategy of a hundred indicators has some 5,000 tokens.
const (
	maxBytes  = 256 << 10
	maxTokens = 20_000
	maxDepth  = 16
)

// document parses YAML as far as a strategy needs it: one document, block and
// flow collections, scalars. What could make it mean something else than it
// shows (anchors, aliases, merges, tags) is refused.
func document(r *reader, src []byte) (root ast.Node, ok bool) {
	src = bytes.TrimPrefix(src, []byte("\ufeff"))
	if len(src) > maxBytes {
		r.problemAt(position{1, 1}, "", fmt.Sprintf("the file has %d bytes; a strategy has at most %d", len(src), maxBytes))
		return nil, false
	}
	if at := invalidText(src); at >= 0 {
		line := 1 + bytes.Count(src[:at], []byte("\n"))
		r.problemAt(position{line, at - bytes.LastIndexByte(src[:at], '\n')}, "", "there is a byte here that is not text in UTF-8")
		return nil, false
	}
	tokens, err := tokenize(src)
	if err != nil {
		r.syntax(err)
		return nil, false
	}
	if !checkTokens(r, tokens) {
		return nil, false
	}
	file, err := parse(tokens)
	if err != nil {
		r.syntax(err)
		return nil, false
	}
	if len(file.Docs) > 1 {
		r.problemAt(positionOf(file.Docs[1].Body), "", "a second document begins here; a file holds one strategy")
		return nil, false
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		r.problemAt(position{1, 1}, "", "the file is empty")
		return nil, false
	}
	return file.Docs[0].Body, true
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
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // duplicates are ours to report, all of them
}

// survive keeps a panic of the parser from ending the process: the text comes
// from anywhere.
func survive(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("the parser gave up: %v", p)
	}
}

// refusedTokens are features of YAML that a strategy does without.
var refusedTokens = map[token.Type]string{
	token.AnchorType:     "anchors (&) are not allowed; write the value out",
	token.AliasType:      "aliases (*) are not allowed; write the value out",
	token.MergeKeyType:   "merge keys (<<) are not allowed; write the keys out",
	token.TagType:        "tags (!) are not allowed; write the value plainly, in quotes if it is text",
	token.DirectiveType:  "directives (%) are not allowed",
	token.MappingKeyType: "complex keys (?) are not allowed",
}

func checkTokens(r *reader, tokens token.Tokens) bool {
	if len(tokens) > maxTokens {
		r.problemAt(position{1, 1}, "", fmt.Sprintf("the file has %d words and signs; a strategy has at most %d", len(tokens), maxTokens))
		return false
	}
	flow, entries, line := 0, 0, 0
	for _, t := range tokens {
		at := position{t.Position.Line, t.Position.Column}
		if why, refused := refusedTokens[t.Type]; refused {
			r.problemAt(at, "", why)
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
		// Nesting by indentation takes a column a level, so that the size bounds it.
		if flow > maxDepth || entries > maxDepth {
			r.problemAt(at, "", fmt.Sprintf("values are nested more than %d deep here", maxDepth))
			return false
		}
	}
	return true
}

// syntax reports the parser's error without the excerpt it draws.
func (r *reader) syntax(err error) {
	if e, ok := errors.AsType[yaml.Error](err); ok && e.GetToken() != nil {
		p := e.GetToken().Position
		r.problemAt(position{p.Line, p.Column}, "", "this is not YAML: "+e.GetMessage())
		return
	}
	r.problemAt(position{1, 1}, "", "this is not YAML: "+err.Error())
}
