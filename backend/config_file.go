package backend

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Bounds of a configuration file. The parser is recursive and would follow any
// nesting, so what is nested deeper is refused before it is parsed.
const (
	maxConfigBytes = 64 << 10
	maxConfigDepth = 8
)

// fromFile reads a configuration file, YAML or JSON, into settings by key. It
// is strict: unknown keys, keys given twice, aliases and tags are refused with
// their line and column.
func fromFile(name string) (map[string]Given, error) {
	f, err := UserFile{"configuration file", name, "name another with --config or KTRDR_CONFIG, or leave it out"}.Open()
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return nil, fmt.Errorf("--config: %w", err)
	}
	return parseConfig(filepath.Base(name), text)
}

func parseConfig(name string, text []byte) (map[string]Given, error) {
	if len(text) > maxConfigBytes {
		return nil, fmt.Errorf("%s is larger than %d KB, which no configuration is", name, maxConfigBytes>>10)
	}
	if nested(text) {
		return nil, fmt.Errorf("%s is nested deeper than %d levels, which no setting is", name, maxConfigDepth)
	}
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	r := configReader{name: name, found: map[string]Given{}}
	switch len(file.Docs) {
	case 0:
		return r.found, nil
	case 1:
	default:
		return nil, fmt.Errorf("%s holds %d documents; put everything into one", name, len(file.Docs))
	}
	if body := file.Docs[0].Body; body != nil && body.Type() != ast.NullType {
		r.mapping(body, "")
	}
	return r.found, errors.Join(r.problems...)
}

// nested says whether the text may be nested too deeply. Flow style nests by
// brackets and block style by indentation, at least one column each, or by
// compact "- - -" and "? ? ?"; counting them without knowing about quotes can
// only refuse too much, and then only what no configuration contains.
func nested(text []byte) bool {
	brackets := 0
	for line := range strings.Lines(string(text)) {
		content := strings.TrimLeft(line, " -?\t")
		if prefix := line[:len(line)-len(content)]; strings.Count(prefix, "-")+strings.Count(prefix, "?") > maxConfigDepth {
			return true
		}
		for _, c := range line {
			switch c {
			case '[', '{':
				brackets++
			case ']', '}':
				brackets--
			}
			if brackets > maxConfigDepth {
				return true
			}
		}
	}
	return indented(text) > maxConfigDepth
}

// indented is how many different indentations are open at once, at most.
func indented(text []byte) int {
	var open []int
	deepest := 0
	for line := range strings.Lines(string(text)) {
		if strings.TrimSpace(line) == "" {
			continue
		}
		in := len(line) - len(strings.TrimLeft(line, " \t"))
		for len(open) > 0 && open[len(open)-1] >= in {
			open = open[:len(open)-1]
		}
		open = append(open, in)
		deepest = max(deepest, len(open))
	}
	return deepest
}

// configReader flattens a file's mappings into settings.
type configReader struct {
	name     string
	found    map[string]Given
	problems []error
}

func (r *configReader) bad(n ast.Node, format string, args ...any) {
	at := r.name
	if t := n.GetToken(); t != nil && t.Position != nil {
		at = fmt.Sprintf("%s:%d:%d", r.name, t.Position.Line, t.Position.Column)
	}
	r.problems = append(r.problems, fmt.Errorf("%s: %s", at, fmt.Sprintf(format, args...)))
}

func (r *configReader) mapping(n ast.Node, prefix string) {
	m, ok := n.(ast.MapNode)
	if !ok {
		r.bad(n, "expected settings as name: value")
		return
	}
	for entries := m.MapRange(); entries.Next(); {
		r.entry(prefix, entries.Key(), entries.Value())
	}
}

func (r *configReader) entry(prefix string, keyNode ast.MapKeyNode, value ast.Node) {
	if keyNode.Type() != ast.StringType {
		r.bad(keyNode, "a setting's name is a plain word")
		return
	}
	key := prefix + keyNode.GetToken().Value
	section := slices.ContainsFunc(Settings(), func(s Setting) bool { return strings.HasPrefix(s.Key, key+".") })
	known := slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Key == key })
	switch {
	case section:
		r.mapping(value, key+".")
	case !known:
		r.bad(keyNode, "there is no setting %q%s", key, didYouMean(key))
	default:
		text, ok := r.value(key, value)
		if !ok {
			return
		}
		if _, twice := r.found[key]; twice {
			r.bad(keyNode, "%s is given twice", key)
			return
		}
		where := fmt.Sprintf("%s:%d: %s", r.name, keyNode.GetToken().Position.Line, key)
		r.found[key] = Given{text, where}
	}
}

// value returns a scalar as it is written, or a list joined by commas.
func (r *configReader) value(key string, n ast.Node) (string, bool) {
	switch n := n.(type) {
	case *ast.SequenceNode:
		var items []string
		for _, item := range n.Values {
			text, ok := r.value(key, item)
			if !ok {
				return "", false
			}
			items = append(items, text)
		}
		return strings.Join(items, ","), true
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.AnchorNode, *ast.AliasNode:
		r.bad(n, "anchors and aliases are not allowed here; write the value out")
	case *ast.NullNode:
		r.bad(n, "%s has no value; give one or remove it", key)
	default:
		r.bad(n, "%s must be a single value", key)
	}
	return "", false
}

func didYouMean(key string) string {
	var keys []string
	for _, s := range Settings() {
		if strings.EqualFold(key, s.Env) {
			return "; did you mean " + s.Key + "?"
		}
		keys = append(keys, s.Key)
	}
	if near := text.Nearest(key, keys); near != "" {
		return "; did you mean " + near + "?"
	}
	return "; `ktrdr serve --help` lists them"
}
