package httpapi

import (
	"cmp"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

// object is a JSON object of the OpenAPI document.
type object = map[string]any

// openAPI describes the table. It is made once, at the start: a type that it
// cannot describe stops the start, not a reader.
func openAPI(rows []row, types ktrdr.Types) ([]byte, error) {
	book, paths := newSchemaBook(types), map[string]object{}
	for _, row := range rows {
		sp := row.about()
		op, err := describe(row, book)
		if err != nil {
			return nil, err
		}
		if paths[sp.Path] == nil {
			paths[sp.Path] = object{}
		}
		paths[sp.Path][strings.ToLower(sp.Method)] = op
	}
	if _, err := book.of(reflect.TypeFor[api.Failure]()); err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "ktrdr", "version": "v1",
			"description": "Durable operations, their workers, checkpoints and events. Every answer but /api/v1/health is {success, data, error}.",
		},
		"security": []object{{"bearer": []string{}}},
		"paths":    paths,
		"components": object{
			"schemas": book.schemas,
			"securitySchemes": object{"bearer": object{
				"type": "http", "scheme": "bearer",
				"description": "A token made by `ktrdr token create`, or the one in the data folder's file `token`.",
			}},
		},
	})
}

func describe(r row, book *schemaBook) (object, error) {
	sp := r.about()
	in, out := r.types()
	op := object{"operationId": idOf(sp), "tags": []string{tagOf(sp)}, "summary": sp.Summary}
	if sp.Public {
		op["security"] = []object{}
	} else {
		op["x-ktrdr-scopes"] = scopeNames(sp)
	}
	if list := parameters(sp, in, book.types); list != nil {
		op["parameters"] = list
	}
	if sp.Limit > 0 && sp.Accepts != "" {
		op["requestBody"] = object{"required": true, "content": object{sp.Accepts: object{}}}
	} else if api.HasBody(*sp, in) {
		schema, err := book.of(in)
		if err != nil {
			return nil, err
		}
		op["requestBody"] = object{"required": true, "content": content(schema)}
	}
	success := object{"description": "Done."}
	switch {
	case out != nil:
		schema, err := book.of(out)
		if err != nil {
			return nil, err
		}
		if !sp.Bare {
			schema = enveloped(schema)
		}
		success["content"] = content(schema)
	case sp.Produces != "" && sp.Method != http.MethodHead:
		success["content"] = object{sp.Produces: object{}}
	}
	op["responses"] = object{
		strconv.Itoa(cmp.Or(sp.Status, http.StatusOK)): success,
		"default": object{"description": "Refused: error says why, for people and for programs.", "content": content(enveloped(nil))},
	}
	return op, nil
}

func content(schema *jsonschema.Schema) object {
	return object{api.ContentJSON: object{"schema": schema}}
}

// enveloped is the schema of an answer: with data, or with an error.
func enveloped(data *jsonschema.Schema) *jsonschema.Schema {
	var (
		null  = &jsonschema.Schema{Type: "null"}
		yes   = any(data != nil)
		props = map[string]*jsonschema.Schema{"success": {Const: &yes}, "data": null, "error": null}
	)
	if data == nil {
		props["error"] = componentRef("Error")
	} else {
		props["data"] = data
		props["next_cursor"] = &jsonschema.Schema{Type: "string", Description: "where the next page begins; absent on the last"}
	}
	return &jsonschema.Schema{Type: "object", Required: []string{"success", "data", "error"}, Properties: props}
}

// id names the operation for generated clients: get_operations_by_id.
func idOf(sp *api.Spec) string {
	var words []string
	for part := range strings.SplitSeq(strings.TrimPrefix(sp.Path, "/api/v1/"), "/") {
		if name, ok := strings.CutPrefix(part, "{"); ok {
			part = "by_" + strings.TrimSuffix(name, "}")
		}
		if part != "" {
			words = append(words, strings.ReplaceAll(part, ".", "_"))
		}
	}
	if !strings.HasPrefix(sp.Path, "/api/v1/") {
		words = append(words, "root")
	}
	return strings.ToLower(sp.Method) + "_" + strings.Join(words, "_")
}

// tag groups routes by the noun they begin with.
func tagOf(sp *api.Spec) string {
	noun, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(sp.Path, "/api/v1"), "/"), "/")
	return noun
}

func parameters(sp *api.Spec, in reflect.Type, types ktrdr.Types) (all []object) {
	for _, p := range api.Params(in) {
		p.Names = namesOf(p, types)
		schema := &jsonschema.Schema{Type: p.Schema()}
		if p.Names != nil {
			schema = enum(p.Names...)
		}
		if p.Many() {
			schema = &jsonschema.Schema{Type: "array", Items: schema}
		}
		all = append(all, object{"name": p.Name, "in": p.In, "required": p.In == api.InPath, "description": p.Doc, "schema": schema})
	}
	if sp.Creates {
		all = append(all, object{
			"name": api.HeaderKey, "in": api.InHeader, "description": "makes the request repeatable: 1 to 200 visible ASCII characters",
			"schema": enum[string](),
		})
	}
	return all
}

// enum is the schema of a closed set of names.
func enum[T ~string](names ...T) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	for _, n := range names {
		s.Enum = append(s.Enum, string(n))
	}
	return s
}

func componentRef(name string) *jsonschema.Schema {
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}
}

// knownSchemas describes the types whose JSON their Go kind does not tell.
func knownSchemas(types ktrdr.Types) map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():   {Description: "any JSON"},
		reflect.TypeFor[[]byte]():            {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[ktrdr.Hash]():        {Type: "string", Pattern: "^[0-9a-f]{64}$"},
		reflect.TypeFor[ktrdr.OperationID](): {Type: "string", Pattern: "^op_[0-9a-z_]+$"},
		reflect.TypeFor[ktrdr.Status]():      enum(ktrdr.Statuses...),
		reflect.TypeFor[ktrdr.Type]():        enum(types.Names()...),
		reflect.TypeFor[ktrdr.Scope]():       enum(ktrdr.Scopes...),
		reflect.TypeFor[ktrdr.CheckpointType](): enum(ktrdr.CheckpointPeriodic, ktrdr.CheckpointPhase, ktrdr.CheckpointCancellation,
			ktrdr.CheckpointFailure, ktrdr.CheckpointShutdown, ktrdr.CheckpointFinal),
		reflect.TypeFor[ktrdr.Class]():    enum(ktrdr.Transient, ktrdr.Permanent, ktrdr.BadInput, ktrdr.System),
		reflect.TypeFor[ktrdr.Severity](): enum(ktrdr.SeverityInfo, ktrdr.SeverityWarning, ktrdr.SeverityError, ktrdr.SeverityCritical),
	}
}
