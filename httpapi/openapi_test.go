package httpapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/indicator"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/thread"
)

// The parts of the document that the tests read.
type (
	apiDocument struct {
		OpenAPI    string                             `json:"openapi"`
		Paths      map[string]map[string]apiOperation `json:"paths"`
		Components struct {
			SecuritySchemes map[string]struct {
				Scheme string `json:"scheme"`
			} `json:"securitySchemes"`
		} `json:"components"`
	}
	apiOperation struct {
		ID         string                                      `json:"operationId"`
		Summary    string                                      `json:"summary"`
		Security   *[]any                                      `json:"security"`
		Parameters []apiParameter                              `json:"parameters"`
		Responses  map[string]struct{ Content map[string]any } `json:"responses"`
	}
	apiParameter struct {
		Name   string            `json:"name"`
		In     string            `json:"in"`
		Schema jsonschema.Schema `json:"schema"`
	}
)

func TestOpenAPI_DescribesEveryRoute(t *testing.T) {
	st := serve(t, &fakeEngine{})
	a := st.send(t, http.MethodGet, openapiPath, "", as(st, ktrdr.ScopeWorker))
	var doc apiDocument
	if err := json.Unmarshal(a.body, &doc); err != nil {
		t.Fatalf("the document is not JSON: %v", err)
	}
	if doc.OpenAPI != "3.1.0" || doc.Components.SecuritySchemes["bearer"].Scheme != "bearer" {
		t.Errorf("openapi = %q, security schemes = %v", doc.OpenAPI, doc.Components.SecuritySchemes)
	}
	ids := map[string]bool{}
	for _, row := range table() {
		sp := row.about()
		op, ok := doc.Paths[sp.Path][strings.ToLower(sp.Method)]
		if !ok {
			t.Errorf("%s is not described", sp.Pattern())
			continue
		}
		if ids[op.ID] {
			t.Errorf("two operations are named %s", op.ID)
		}
		ids[op.ID] = true
		if public := op.Security != nil && len(*op.Security) == 0; public != sp.Public {
			t.Errorf("%s: described as public = %v, want %v", sp.Pattern(), public, sp.Public)
		}
		if op.Summary == "" || op.Responses["default"].Content == nil {
			t.Errorf("%s lacks a summary or its refusal", sp.Pattern())
		}
		if got, want := strings.Count(sp.Path, "{"), countIn(op.Parameters, "path"); got != want {
			t.Errorf("%s: %d path parameters described, want %d", sp.Pattern(), want, got)
		}
	}
}

func countIn(params []apiParameter, in string) (n int) {
	for _, p := range params {
		if p.In == in {
			n++
		}
	}
	return n
}

func TestOpenAPI_EveryReferenceResolves(t *testing.T) {
	document, err := openAPI(table(), testTypes)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(document, &doc); err != nil {
		t.Fatal(err)
	}
	schemas := doc.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any)
	refs := 0
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if ref, ok := v["$ref"].(string); ok {
				refs++
				name, ok := strings.CutPrefix(ref, "#/components/schemas/")
				if schemas[name] == nil || !ok {
					t.Errorf("%s leads nowhere", ref)
				}
				if len(v) != 1 {
					t.Errorf("%s stands beside %v, which contradicts it", ref, v)
				}
			}
			for _, inner := range v {
				walk(inner)
			}
		case []any:
			for _, inner := range v {
				walk(inner)
			}
		}
	}
	walk(doc)
	if refs < 50 {
		t.Errorf("%d references, want the document to be made of them", refs)
	}
}

// The schemas are held to real answers: what the server sends must validate.
func TestOpenAPI_SchemasFitWhatIsSent(t *testing.T) {
	book := newSchemaBook(testTypes)
	checkpoint := ktrdr.CheckpointInfo{ID: "1", Type: ktrdr.CheckpointFinal}
	for _, v := range []any{
		ktrdr.Operation{
			ID: testOp, Type: ktrdr.Dummy, Status: ktrdr.Failed, Spec: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`),
			Error: &ktrdr.Failure{Class: ktrdr.System, Severity: ktrdr.SeverityError}, Checkpoint: &checkpoint, Root: testOp,
		},
		ktrdr.ClaimReply{
			Task: &ktrdr.Task{
				Operation: testOp, Type: ktrdr.Dummy, Spec: json.RawMessage(`1`),
				Checkpoint: &ktrdr.StoredCheckpoint{
					Checkpoint: ktrdr.Checkpoint{CheckpointInfo: checkpoint, Operation: testOp, State: json.RawMessage(`{}`)},
					StateBlob:  &ktrdr.Artifact{},
				},
			},
		},
		ktrdr.Health{Workers: ktrdr.WorkerCounts{ByType: map[ktrdr.Type]ktrdr.WorkerSlots{ktrdr.Dummy: {}}}},
		api.Results{
			Operation: testOp, Type: ktrdr.Backtesting, Status: ktrdr.Completed, Results: json.RawMessage(`{}`),
			Artifacts: []api.Download{{Artifact: ktrdr.Artifact{Name: "a"}}}, Trades: []jobs.Trade{{Side: "long"}}, Equity: []jobs.Point{{Value: 1}},
			Curve: &evidence.Curve{Years: []evidence.Year{{}}, Drawdowns: []evidence.Drawdown{{}}},
		},
		jobs.Prediction{Bars: []jobs.PredictedBar{{Answers: []float32{0.5}}}, Look: []ktrdr.LookMarket{{Market: "m", Number: 1}}},
		jobs.TrainedModel{Operation: testOp, Symbols: []string{"EURUSD"}, Timeframes: []string{"1h"}},
		indicator.Description{
			Name: "rsi", Params: []indicator.ParamDescription{{Name: "period", Default: 14}}, Outputs: []indicator.OutputDescription{{Name: "rsi"}},
		},
		api.NewTokenReply{Token: ktrdr.Token{Scope: ktrdr.ScopeRead}},
		api.CancelReply{Operation: testOp, Status: ktrdr.Running, Children: []ktrdr.OperationID{testOp}},
		thread.Tuple{Checkpoint: json.RawMessage(`{}`), Values: map[string]thread.Value{"a": {Type: "t", Bytes: []byte{1}}}},
	} {
		typ := reflect.TypeOf(v)
		if _, err := book.of(typ); err != nil {
			t.Fatal(err)
		}
		root := &jsonschema.Schema{Ref: "#/$defs/" + schemaName(typ), Defs: map[string]*jsonschema.Schema{}}
		maps.Copy(root.Defs, book.schemas)
		text, err := json.Marshal(root)
		if err != nil {
			t.Fatal(err)
		}
		var moved jsonschema.Schema // resolves within itself once the references point to $defs
		if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "#/components/schemas/", "#/$defs/")), &moved); err != nil {
			t.Fatal(err)
		}
		resolved, err := moved.Resolve(nil)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		sent, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		var instance any
		if err := json.Unmarshal(sent, &instance); err != nil {
			t.Fatal(err)
		}
		if err := resolved.Validate(instance); err != nil {
			t.Errorf("%s: %s does not fit its schema: %v", typ, sent, err)
		}
	}
}
