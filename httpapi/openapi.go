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

// The parts of an OpenAPI 3.1 document that we use.
type (
	apiDocument struct {
		OpenAPI    string                              `json:"openapi"`
		Info       apiInfo                             `json:"info"`
		Security   []map[string][]string               `json:"security"`
		Paths      map[string]map[string]*apiOperation `json:"paths"`
		Components apiComponents                       `json:"components"`
	}
	apiInfo struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	}
	apiComponents struct {
		Schemas         map[string]*jsonschema.Schema `json:"schemas"`
		SecuritySchemes map[string]apiSecurity        `json:"securitySchemes"`
	}
	apiSecurity struct {
		Type        string `json:"type"`
		Scheme      string `json:"scheme"`
		Description string `json:"description"`
	}
	apiOperation struct {
		ID          string                 `json:"operationId"`
		Tags        []string               `json:"tags"`
		Summary     string                 `json:"summary"`
		Security    *[]map[string][]string `json:"security,omitempty"`
		Scopes      []string               `json:"x-ktrdr-scopes,omitempty"`
		Parameters  []apiParameter         `json:"parameters,omitempty"`
		RequestBody *apiBody               `json:"requestBody,omitempty"`
		Responses   map[string]apiResponse `json:"responses"`
	}
	apiParameter struct {
		Name        string             `json:"name"`
		In          string             `json:"in"`
		Required    bool               `json:"required,omitempty"`
		Description string             `json:"description,omitempty"`
		Schema      *jsonschema.Schema `json:"schema"`
	}
	apiBody struct {
		Required bool                `json:"required"`
		Content  map[string]apiMedia `json:"content"`
	}
	apiResponse struct {
		Description string              `json:"description"`
		Content     map[string]apiMedia `json:"content,omitempty"`
	}
	apiMedia struct {
		Schema *jsonschema.Schema `json:"schema,omitempty"`
	}
)

const bearer = "bearer"

// openAPI describes the table. It is made once, at the start: a type that it
// cannot describe stops the start, not a reader.
func openAPI(rows []row) ([]byte, error) {
	book := newSchemaBook()
	doc := apiDocument{
		OpenAPI: "3.1.0",
		Info: apiInfo{
			Title: "ktrdr", Version: "v1",
			Description: "Durable operations, their workers, checkpoints and events. Every answer but /api/v1/health is {success, data, error}.",
		},
		Security: []map[string][]string{{bearer: {}}},
		Paths:    make(map[string]map[string]*apiOperation),
		Components: apiComponents{
			Schemas: book.schemas,
			SecuritySchemes: map[string]apiSecurity{
				bearer: {"http", "bearer", "A token made by `ktrdr token create`, or the one in the data folder's file `token`."},
			},
		},
	}
	for _, row := range rows {
		sp := row.about()
		op, err := describe(row, book)
		if err != nil {
			return nil, err
		}
		if doc.Paths[sp.Path] == nil {
			doc.Paths[sp.Path] = make(map[string]*apiOperation)
		}
		doc.Paths[sp.Path][strings.ToLower(sp.Method)] = op
	}
	if _, err := book.of(reflect.TypeFor[api.Failure]()); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func describe(r row, book *schemaBook) (*apiOperation, error) {
	sp := r.about()
	in, out := r.types()
	op := &apiOperation{ID: idOf(sp), Tags: []string{tagOf(sp)}, Summary: sp.Summary, Responses: make(map[string]apiResponse)}
	if sp.Public {
		op.Security = &[]map[string][]string{}
	} else {
		op.Scopes = scopeNames(sp)
	}
	op.Parameters = parameters(sp, in)
	if fields := len(fieldsOf(in)); sp.Limit > 0 && (fields > 0 || sp.Accepts != "") {
		media := apiMedia{}
		if sp.Accepts == "" {
			schema, err := book.of(in)
			if err != nil {
				return nil, err
			}
			media.Schema = schema
		}
		op.RequestBody = &apiBody{Required: true, Content: map[string]apiMedia{cmp.Or(sp.Accepts, api.ContentJSON): media}}
	}
	success, err := successOf(sp, out, book)
	if err != nil {
		return nil, err
	}
	op.Responses[strconv.Itoa(cmp.Or(sp.Status, http.StatusOK))] = success
	op.Responses["default"] = apiResponse{
		Description: "Refused: error says why, for people and for programs.",
		Content:     map[string]apiMedia{api.ContentJSON: {Schema: enveloped(nil)}},
	}
	return op, nil
}

func successOf(sp *api.Spec, out reflect.Type, book *schemaBook) (apiResponse, error) {
	res := apiResponse{Description: "Done."}
	if out == nil {
		if sp.Produces != "" && sp.Method != http.MethodHead {
			res.Content = map[string]apiMedia{sp.Produces: {}}
		}
		return res, nil
	}
	schema, err := book.of(out)
	if err != nil {
		return res, err
	}
	if !sp.Bare {
		schema = enveloped(schema)
	}
	res.Content = map[string]apiMedia{api.ContentJSON: {Schema: schema}}
	return res, nil
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

func parameters(sp *api.Spec, in reflect.Type) (all []apiParameter) {
	for _, p := range api.Params(in) {
		schema := &jsonschema.Schema{Type: p.Schema()}
		if p.Names != nil {
			schema = enum(p.Names...)
		}
		if p.Many() {
			schema = &jsonschema.Schema{Type: "array", Items: schema}
		}
		all = append(all, apiParameter{Name: p.Name, In: p.In, Required: p.In == api.InPath, Description: p.Doc, Schema: schema})
	}
	if sp.Creates {
		all = append(all, apiParameter{
			Name: api.HeaderKey, In: api.InHeader, Description: "makes the request repeatable: 1 to 200 visible ASCII characters",
			Schema: &jsonschema.Schema{Type: "string"},
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
func knownSchemas() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage]():   {Description: "any JSON"},
		reflect.TypeFor[[]byte]():            {Type: "string", ContentEncoding: "base64"},
		reflect.TypeFor[ktrdr.Hash]():        {Type: "string", Pattern: "^[0-9a-f]{64}$"},
		reflect.TypeFor[ktrdr.OperationID](): {Type: "string", Pattern: "^op_[0-9a-z_]+$"},
		reflect.TypeFor[ktrdr.Status]():      enum(ktrdr.Statuses...),
		reflect.TypeFor[ktrdr.Type]():        enum(ktrdr.Types...),
		reflect.TypeFor[ktrdr.Scope]():       enum(ktrdr.ScopeAdmin, ktrdr.ScopeWorker, ktrdr.ScopeRead),
		reflect.TypeFor[ktrdr.CheckpointType](): enum(ktrdr.CheckpointPeriodic, ktrdr.CheckpointPhase, ktrdr.CheckpointCancellation,
			ktrdr.CheckpointFailure, ktrdr.CheckpointShutdown, ktrdr.CheckpointFinal),
		reflect.TypeFor[ktrdr.Class]():    enum(ktrdr.Transient, ktrdr.Permanent, ktrdr.BadInput, ktrdr.System),
		reflect.TypeFor[ktrdr.Severity](): enum(ktrdr.SeverityInfo, ktrdr.SeverityWarning, ktrdr.SeverityError, ktrdr.SeverityCritical),
	}
}
