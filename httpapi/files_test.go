package httpapi

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func TestFiles_OfACompactedOperationAreComputedForTheReader(t *testing.T) {
	bytes := []byte("a model")
	file := ktrdr.Artifact{Name: "model.safetensors", SHA256: sha256.Sum256(bytes), Size: int64(len(bytes))}
	result, err := json.Marshal(map[string]any{"artifacts": []ktrdr.Artifact{file}})
	if err != nil {
		t.Fatal(err)
	}
	op := ktrdr.Operation{
		ID: testOp, Type: ktrdr.Training, Status: ktrdr.Completed, Result: result, Compacted: true, Parent: "op_agent_research_1",
	}
	engine := &fakeEngine{operation: func(ktrdr.OperationID) (ktrdr.Operation, error) { return op, nil }}
	desk := &fakeDesk{made: func(of ktrdr.Operation, name string) ([]byte, error) {
		if of.ID != testOp || name != file.Name {
			return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "%s has stored no %s", of.ID, name)
		}
		return bytes, nil
	}}
	st := serve(t, engine, func(c *Config) { c.Desk = desk })
	var got api.Results
	a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp)+"/results", "")
	if err := json.Unmarshal(a.parsed.Data, &got); err != nil || !got.Compacted || len(got.Artifacts) != 1 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := st.send(t, http.MethodGet, got.Artifacts[0].URL, ""); a.status != http.StatusOK || string(a.body) != string(bytes) {
		t.Errorf("GET %s: %d %q", got.Artifacts[0].URL, a.status, a.body)
	}
	if a := st.send(t, http.MethodGet, "/api/v1/operations/"+string(testOp)+"/files/other", ""); a.status != http.StatusNotFound {
		t.Errorf("a file that it never made: %d %s", a.status, a.body)
	}
	r, err := newClient(t, st, ktrdr.ScopeAdmin).OpenFile(t.Context(), testOp, file)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	if b, err := io.ReadAll(r); err != nil || string(b) != string(bytes) {
		t.Errorf("the client read %q, %v", b, err)
	}
}

func TestPin_IsSetAndTakenBack(t *testing.T) {
	var asked []bool
	desk := &fakeDesk{pinned: func(id ktrdr.OperationID, pinned bool) (ktrdr.Operation, error) {
		if id != testOp {
			t.Errorf("asked for %s", id)
		}
		asked = append(asked, pinned)
		return ktrdr.Operation{ID: "op_agent_research_1", Pinned: pinned}, nil
	}}
	st := serve(t, &fakeEngine{}, func(c *Config) { c.Desk = desk })
	on, err := newClient(t, st, ktrdr.ScopeAdmin).Pin(t.Context(), testOp)
	off, err2 := newClient(t, st, ktrdr.ScopeAdmin).Unpin(t.Context(), testOp)
	if err != nil || err2 != nil || !on.Pinned || off.Pinned || on.Operation != "op_agent_research_1" || len(asked) != 2 ||
		!asked[0] || asked[1] {
		t.Errorf("%+v, %+v, %v, %v, %v", on, off, asked, err, err2)
	}
}
