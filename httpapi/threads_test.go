package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// fakeSaver notes what it is asked; what a test does not expect panics.
type fakeSaver struct {
	thread.Saver
	put     thread.Put
	deleted [2]string
	pruned  bool
	most    int64 // bytes that a list may have
	leased  thread.LeaseRequest
	ended   thread.LeaseRelease
}

func (f *fakeSaver) Put(_ context.Context, p thread.Put) (thread.Ref, error) {
	f.put = p
	return thread.Ref{Thread: p.Thread, NS: p.NS, Checkpoint: "c1"}, nil
}

func (f *fakeSaver) GetTuple(_ context.Context, ref thread.Ref) (thread.Tuple, error) {
	if ref.Thread == "missing" {
		return thread.Tuple{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no checkpoint")
	}
	return thread.Tuple{Thread: ref.Thread, ID: "c1", Checkpoint: []byte(`{}`)}, nil
}

func (f *fakeSaver) List(_ context.Context, q thread.Query) ([]thread.Tuple, error) {
	f.most = q.MaxBytes
	return nil, nil
}

func (f *fakeSaver) DeleteThread(_ context.Context, tenant, threadID string) error {
	f.deleted = [2]string{tenant, threadID}
	return nil
}

func (f *fakeSaver) Prune(_ context.Context, _ string, _ []string, keepLatest bool) error {
	f.pruned = keepLatest
	return nil
}

func (f *fakeSaver) Lease(_ context.Context, r thread.LeaseRequest) (thread.Lease, error) {
	f.leased = r
	if r.Token != 0 {
		return thread.Lease{}, ktrdr.Errorf(ktrdr.CodeStaleEpoch, "over")
	}
	return thread.Lease{Token: 7, Holder: r.Holder}, nil
}

func (f *fakeSaver) Release(_ context.Context, r thread.LeaseRelease) error {
	f.ended = r
	return nil
}

func TestThreads_AreLeased(t *testing.T) {
	saver := &fakeSaver{}
	st := serve(t, &fakeEngine{saver: saver})
	var lease thread.Lease
	mustData(t, st.send(t, http.MethodPost, "/api/v1/threads/lease", `{"tenant":"me","thread_id":"t1","holder":"h","ttl_seconds":0.5}`),
		http.StatusOK, &lease)
	if want := (thread.LeaseRequest{Tenant: "me", Thread: "t1", Holder: "h", TTLSeconds: .5}); saver.leased != want || lease.Token != 7 {
		t.Errorf("asked for %+v, got %+v; want %+v and token 7", saver.leased, lease, want)
	}
	refusedWith(t, "over", st.send(t, http.MethodPost, "/api/v1/threads/lease", `{"thread_id":"t1","holder":"h","ttl_seconds":1,"token":3}`),
		"", http.StatusConflict, ktrdr.CodeStaleEpoch)
	if a := st.send(t, http.MethodPost, "/api/v1/threads/lease/release", `{"thread_id":"t1","token":7}`); a.status != http.StatusOK ||
		saver.ended.Token != 7 {
		t.Errorf("release = %d %s", a.status, a.body)
	}
	st.send(t, http.MethodPost, "/api/v1/threads/put",
		`{"thread_id":"t1","checkpoint":{"id":"c1"},"new_versions":{},"lease":{"token":7},"expected_latest":""}`)
	if p := saver.put; p.Lease == nil || p.Lease.Token != 7 || p.Latest == nil || *p.Latest != "" {
		t.Errorf("put = %+v, want the token and the expected checkpoint", p)
	}
}

func TestThreads_PassToTheSaver(t *testing.T) {
	saver := &fakeSaver{}
	st := serve(t, &fakeEngine{saver: saver})
	a := st.send(t, http.MethodPost, "/api/v1/threads/put",
		`{"tenant":"me","thread_id":"t1","checkpoint_ns":"","checkpoint":{"id":"c1","v":4},
			"channel_values":{"Messages":{"t":"msgpack","b":"AQI="},"messages":{"t":"x","b":""}},"new_versions":{"messages":2}}`)
	var ref thread.Ref
	mustData(t, a, http.StatusOK, &ref)
	if diff := cmp.Diff(thread.Ref{Thread: "t1", Checkpoint: "c1"}, ref); diff != "" {
		t.Errorf("ref (-want +got):\n%s", diff)
	}
	if got := saver.put.Values["Messages"]; got.Type != "msgpack" || string(got.Bytes) != "\x01\x02" || saver.put.Tenant != "me" {
		t.Errorf("put = %+v", saver.put)
	}
	if a := st.send(t, http.MethodPost, "/api/v1/threads/list", `{}`, as(st, ktrdr.ScopeRead)); string(a.parsed.Data) != "[]" {
		t.Errorf("list = %s, want []", a.body)
	}
	if saver.most != 32<<20 {
		t.Errorf("a list may have %d bytes, want 32 MB", saver.most)
	}
	refusedWith(t, "missing", st.send(t, http.MethodPost, "/api/v1/threads/get", `{"thread_id":"missing"}`), "", http.StatusNotFound,
		ktrdr.CodeNotFound)
	if a := st.send(t, http.MethodDelete, "/api/v1/threads/a%2Fb?tenant=me", ""); a.status != http.StatusOK ||
		saver.deleted != [2]string{"me", "a/b"} {
		t.Errorf("delete = %d, deleted %v", a.status, saver.deleted)
	}
	if a := st.send(t, http.MethodPost, "/api/v1/threads/prune",
		`{"thread_ids":["t1"],"strategy":"keep_latest"}`); a.status != http.StatusOK || !saver.pruned {
		t.Errorf("prune = %d %s", a.status, a.body)
	}
}

func TestThreads_OfOperationsAreReadOnly(t *testing.T) {
	st := serve(t, &fakeEngine{saver: &fakeSaver{}})
	op := string(testOp)
	for path, body := range map[string]string{
		"put":    `{"thread_id":"` + op + `","checkpoint":{},"new_versions":{}}`,
		"writes": `{"thread_id":"` + op + `","checkpoint_id":"c","task_id":"t","writes":[]}`,
		"copy":   `{"source_thread_id":"t1","target_thread_id":"` + op + `"}`,
		"prune":  `{"thread_ids":["t1","` + op + `"],"strategy":"delete"}`,
		"lease":  `{"thread_id":"` + op + `","holder":"h","ttl_seconds":1}`,
	} {
		refusedWith(t, path, st.send(t, http.MethodPost, "/api/v1/threads/"+path, body), "", http.StatusForbidden, ktrdr.CodeForbidden)
	}
	refusedWith(t, "delete", st.send(t, http.MethodDelete, "/api/v1/threads/"+op, ""), "", http.StatusForbidden, ktrdr.CodeForbidden)
	if a := st.send(t, http.MethodPost, "/api/v1/threads/get", `{"thread_id":"`+op+`"}`); a.status != http.StatusOK {
		t.Errorf("get = %d, want 200", a.status)
	}
}

func TestThreads_NamesAreNeeded(t *testing.T) {
	st := serve(t, &fakeEngine{saver: &fakeSaver{}})
	for path, body := range map[string]string{
		"put":    `{"checkpoint":{},"new_versions":{}}`,
		"get":    `{"thread_id":"` + strings.Repeat("x", 257) + `"}`,
		"writes": `{"thread_id":"t1","checkpoint_id":"c","writes":[]}`,
		"prune":  `{"thread_ids":["t1"],"strategy":"maybe"}`,
		"list":   `{"limit":-1}`,
		"copy":   `{"target_thread_id":"t2"}`,
	} {
		refusedWith(t, path, st.send(t, http.MethodPost, "/api/v1/threads/"+path, body), "", http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
	}
}

func TestThreads_APutKeepsNothingOfTheMemoryItWasReadInto(t *testing.T) {
	saver := &fakeSaver{}
	st := serve(t, &fakeEngine{saver: saver})
	put := func(fill string) {
		long := strings.Repeat(fill, 400)
		a := st.send(t, http.MethodPost, "/api/v1/threads/put", `{"thread_id":"`+long[:200]+`","checkpoint":{"id":"`+long+
			`"},"channel_values":{"`+long[:100]+`":{"t":"`+fill+`","b":"`+long+`"}},"new_versions":{"`+long[:100]+`":"`+long+`"},"metadata":{"m":"`+
			long+`"},"expected_latest":"`+long+`"}`)
		if a.status != http.StatusOK {
			t.Fatalf("status %d: %s", a.status, a.body)
		}
	}
	put("AAAA")
	first := saver.put
	for range 20 { // one of them has the same memory
		put("BBBB")
	}
	kept, err := json.Marshal(first)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(kept), "BBBB") {
		t.Errorf("the first put became %s", kept)
	}
}
