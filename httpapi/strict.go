package httpapi

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/internal/text"
)

const maxDepth = 64

// readOptions refuse unknown names and ids that cannot exist. Duplicate names and
// UTF-8 are checked before.
var readOptions = jsonv2.JoinOptions(
	jsonv2.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
	jsonv2.WithUnmarshalers(jsonv2.UnmarshalFunc(func(b []byte, id *ktrdr.OperationID) error {
		if err := jsonv2.Unmarshal(b, (*string)(id)); err != nil || string(b) == "null" || id.Valid() {
			return err
		}
		return fmt.Errorf("%.40q %w", string(*id), errOperationID)
	})),
)

var errOperationID = errors.New("is not an operation's id")

// readJSON reads a body into the struct that v points to. It is stricter than
// encoding/json: it refuses duplicate names, unknown names, names in another
// case, invalid UTF-8, and values that no store can keep.
func readJSON(body []byte, v any) error {
	if err := checkJSON(body); err != nil {
		return err
	}
	err := jsonv2.Unmarshal(body, v, readOptions)
	se, ok := errors.AsType[*jsonv2.SemanticError](err)
	switch {
	case err == nil:
		return nil
	case !ok:
		return malformed("the body cannot be read: %w", err)
	case errors.Is(err, errOperationID):
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%.200s: %w", member(se.JSONPointer), se.Err)
	case errors.Is(err, jsonv2.ErrUnknownName):
		at, name := se.JSONPointer.Parent(), se.JSONPointer.LastToken()
		return unreadable(body, se.ByteOffset, at, "there is no field %.60q here%s", name, nearField(reflect.TypeOf(v), at, name))
	case se.Err != nil && se.JSONKind == '"':
		return malformed("the body does not fit: %.200s: %w", member(se.JSONPointer), se.Err)
	}
	return malformed("the body does not fit: %.200s cannot hold a JSON %s", member(se.JSONPointer), se.JSONKind)
}

// checkJSON checks the syntax and the depth, and that every value can be
// stored: PostgreSQL has no text with NUL, and a float64 cannot hold 1e400.
func checkJSON(body []byte) error {
	if bytes.HasPrefix(body, []byte("\xef\xbb\xbf")) {
		return unreadable(body, 0, "", "it begins with a byte order mark; send plain UTF-8")
	}
	d := jsontext.NewDecoder(bytes.NewBuffer(body))
	if k := d.PeekKind(); k != '{' {
		return unreadable(body, d.InputOffset(), "", "it must be a JSON object")
	}
	mayHaveNUL := bytes.Contains(body, []byte(`\u0000`))
	for {
		token, err := d.ReadToken()
		if err != nil {
			return badSyntax(body, err)
		}
		at, wrong := d.InputOffset(), ""
		switch k := token.Kind(); {
		case d.StackDepth() > maxDepth:
			wrong = fmt.Sprintf("it is nested deeper than %d levels", maxDepth)
		case k == '0':
			if _, err := token.Float(); err != nil {
				wrong = "a number is too large"
			}
		case k == '"' && mayHaveNUL && strings.ContainsRune(token.String(), 0):
			wrong = "a string contains NUL, which cannot be stored"
		case d.StackDepth() == 0:
			if _, err := d.ReadToken(); errors.Is(err, io.EOF) {
				return nil
			}
			wrong = "there is more after the JSON object"
		}
		if wrong != "" {
			return unreadable(body, at, d.StackPointer(), "%s", wrong)
		}
	}
}

func badSyntax(body []byte, err error) error {
	se, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return unreadable(body, int64(len(body)), "", "it ends too early")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return unreadable(body, se.ByteOffset, se.JSONPointer, "it ends too early")
	case errors.Is(err, jsontext.ErrDuplicateName):
		return unreadable(body, se.ByteOffset, se.JSONPointer.Parent(), "the name %.60q is there twice", se.JSONPointer.LastToken())
	}
	return unreadable(body, se.ByteOffset, se.JSONPointer, "%w", se.Err)
}

// unreadable says what is wrong with the text of a body, and where: by name for
// people, by line and column for editors.
func unreadable(body []byte, offset int64, at jsontext.Pointer, format string, args ...any) error {
	before := body[:min(int(offset), len(body))]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := len(before) - bytes.LastIndexByte(before, '\n')
	name := member(at)
	if name != "" {
		name = "at " + name + ", "
	}
	return malformed("the body cannot be read: %w (%.200sline %d, column %d)", fmt.Errorf(format, args...), name, line, column)
}

// member writes a JSON pointer as people do: children[1].steps.
func member(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			fmt.Fprintf(&b, "[%s]", token)
		} else {
			b.WriteString("." + token)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

// nearField names the field of the struct at a place that a misspelt name is
// nearest to.
func nearField(t reflect.Type, at jsontext.Pointer, name string) string {
	for token := range at.Tokens() {
		if t = indirect(t); t.Kind() != reflect.Struct {
			t = t.Elem()
		} else {
			t = api.Fields(t)[token]
		}
	}
	if near := text.Nearest(name, slices.Sorted(maps.Keys(api.Fields(indirect(t))))); near != "" {
		return "; did you mean " + near + "?"
	}
	return ""
}

func indirect(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}
