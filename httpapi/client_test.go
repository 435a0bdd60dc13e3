package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/dummy"
)

func newClient(t *testing.T, st *site, scope ktrdr.Scope) *client.Client {
	t.Helper()
	return clientOf(t, st.url, st.tokens[scope], client.Options{})
}

func clientOf(t *testing.T, url string, token ktrdr.Secret, o client.Options) *client.Client {
	t.Helper()
	cl, err := client.New(url, token, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cl.Close)
	return cl
}

func TestClient_CarriesAWorkersCalls(t *testing.T) {
	claimed := ktrdr.Claimed{Operation: testOp, Epoch: 2, Step: 9}
	task := &ktrdr.Task{Operation: testOp, Type: ktrdr.Dummy, Epoch: 2, Attempts: 1, Spec: json.RawMessage(`{"steps":3}`)}
	older := &ktrdr.StoredCheckpoint{
		Checkpoint: ktrdr.Checkpoint{CheckpointInfo: ktrdr.CheckpointInfo{ID: "older"}, Operation: testOp, State: json.RawMessage(`{}`)},
	}
	var finished ktrdr.Finished
	var released ktrdr.Released
	engine := &fakeEngine{
		register: func(r ktrdr.Registration) (ktrdr.Registered, error) {
			return ktrdr.Registered{HeartbeatSeconds: 0.5, Orders: ktrdr.Orders{Lost: r.Running}}, nil
		},
		heartbeat: func(h ktrdr.Heartbeat) (ktrdr.Orders, error) { return ktrdr.Orders{Cancel: h.Running}, nil },
		claim: func(context.Context, ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
			return ktrdr.ClaimReply{Task: task}, nil
		},
		finish:  func(f ktrdr.Finished) error { finished = f; return nil },
		release: func(r ktrdr.Released) error { released = r; return nil },
		skip: func(s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
			if s.Checkpoint == "first" {
				return nil, nil
			}
			return older, nil
		},
		liveClaim: func(ktrdr.OperationID, ktrdr.Epoch) error { return nil },
	}
	cl := newClient(t, serve(t, engine), ktrdr.ScopeWorker)
	ctx := t.Context()

	registered, err := cl.Register(ctx, ktrdr.Registration{Protocol: ktrdr.Protocol, Running: []ktrdr.Claimed{claimed}})
	if want := (ktrdr.Registered{HeartbeatSeconds: 0.5, Orders: ktrdr.Orders{Lost: []ktrdr.Claimed{claimed}}}); err != nil ||
		!cmp.Equal(want, registered) {
		t.Errorf("Register = %+v, %v", registered, err)
	}
	orders, err := cl.Heartbeat(ctx, ktrdr.Heartbeat{Worker: "w", Running: []ktrdr.Claimed{claimed}})
	if err != nil || !cmp.Equal(orders.Cancel, []ktrdr.Claimed{claimed}) {
		t.Errorf("Heartbeat = %+v, %v", orders, err)
	}
	reply, err := cl.Claim(ctx, ktrdr.ClaimRequest{Worker: "w", Key: "k", Free: 1})
	if err != nil || !cmp.Equal(reply.Task, task) {
		t.Errorf("Claim = %+v, %v", reply, err)
	}
	want := ktrdr.Finished{
		Operation: testOp, Epoch: 2, Outcome: ktrdr.Failed, Result: json.RawMessage(`{"a":1}`),
		Error: ktrdr.NewFailure(ktrdr.CodePanic, errors.New("x")),
	}
	if err := cl.Finish(ctx, want); err != nil || !cmp.Equal(want, finished) {
		t.Errorf("Finish = %v, got %+v", err, finished)
	}
	later := ktrdr.Released{Operation: testOp, Epoch: 2, Reason: "busy", AfterSeconds: 90.5}
	if err := cl.Release(ctx, later); err != nil || released != later {
		t.Errorf("Release = %v, got %+v", err, released)
	}
	if next, err := cl.SkipCheckpoint(ctx, ktrdr.Skip{Operation: testOp, Checkpoint: "second"}); err != nil || !cmp.Equal(next, older) {
		t.Errorf("SkipCheckpoint = %+v, %v", next, err)
	}
	if next, err := cl.SkipCheckpoint(ctx, ktrdr.Skip{Operation: testOp, Checkpoint: "first"}); err != nil || next != nil {
		t.Errorf("SkipCheckpoint = %+v, %v, want none", next, err)
	}
	for _, data := range [][]byte{{}, bytes.Repeat([]byte("weights "), 1<<17)} {
		h := ktrdr.Hash(sha256.Sum256(data))
		if err := cl.PutBlob(ctx, claimed, h, int64(len(data)), bytes.NewReader(data)); err != nil {
			t.Fatalf("PutBlob of %d bytes = %v", len(data), err)
		}
		blob, err := cl.OpenBlob(ctx, h)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(blob)
		if err != nil || !bytes.Equal(got, data) {
			t.Errorf("blob of %d bytes came back as %d: %v", len(data), len(got), err)
		}
		_ = blob.Close()
	}
}

func TestClient_ErrorsKeepTheirCodes(t *testing.T) {
	st := serve(t, &fakeEngine{
		heartbeat: func(ktrdr.Heartbeat) (ktrdr.Orders, error) {
			return ktrdr.Orders{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no worker w")
		},
		finish: func(f ktrdr.Finished) error {
			return &ktrdr.TransitionError{ID: f.Operation, Input: ktrdr.Finish, Code: ktrdr.CodeStaleEpoch}
		},
		liveClaim: func(ktrdr.OperationID, ktrdr.Epoch) error { return ktrdr.Errorf(ktrdr.CodeStaleEpoch, "not live") },
	})
	cl := newClient(t, st, ktrdr.ScopeWorker)
	ctx := t.Context()
	_, err := cl.Heartbeat(ctx, ktrdr.Heartbeat{Worker: "w"})
	wantCode(t, "heartbeat", err, ktrdr.CodeNotFound)
	wantCode(t, "finish", cl.Finish(ctx, ktrdr.Finished{Operation: testOp, Outcome: ktrdr.Completed}), ktrdr.CodeStaleEpoch)
	wantCode(t, "blob", cl.PutBlob(ctx, ktrdr.Claimed{Operation: testOp}, ktrdr.Hash{}, 5, strings.NewReader("hello")),
		ktrdr.CodeStaleEpoch)
	_, err = cl.OpenBlob(ctx, ktrdr.Hash{})
	wantCode(t, "missing blob", err, ktrdr.CodeNotFound)
	_, err = cl.Tokens(ctx)
	wantCode(t, "scope", err, ktrdr.CodeForbidden)
	_, err = clientOf(t, st.url, "nonsense", client.Options{}).Workers(ctx)
	wantCode(t, "token", err, ktrdr.CodeUnauthorized)

	st.stop()
	_, err = cl.Heartbeat(ctx, ktrdr.Heartbeat{Worker: "w"})
	wantCode(t, "no server", err, ktrdr.CodeUnavailable)
	_, err = cl.Health(ctx)
	wantCode(t, "no server", err, ktrdr.CodeUnavailable)
}

func wantCode(t *testing.T, what string, err error, code ktrdr.Code) {
	t.Helper()
	if got := ktrdr.CodeOf(err); got != code {
		t.Errorf("%s: error = %v (%s), want %s", what, err, got, code)
	}
}

func TestClient_AcceptsOnlyAServerOfKtrdr(t *testing.T) {
	var seen atomic.Value
	thief := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen.Store(r.Header.Get("Authorization")) }))
	defer thief.Close()
	answers := map[string]http.HandlerFunc{
		"a web page":  func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>hello") },
		"a 404 page":  http.NotFound,
		"a bad proxy": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) },
		"a redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, thief.URL, http.StatusTemporaryRedirect)
		},
		"a broken one": func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"half a body": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			_, _ = io.WriteString(w, `{"data":`)
		},
	}
	for name, h := range answers {
		other := httptest.NewServer(h)
		cl := clientOf(t, other.URL, "ktrdr_secret", client.Options{})
		_, err := cl.Workers(t.Context())
		wantCode(t, name, err, ktrdr.CodeUnavailable)
		if _, err := cl.Health(t.Context()); err == nil {
			t.Errorf("%s was taken for a healthy server", name)
		}
		if strings.Contains(err.Error(), "ktrdr_secret") {
			t.Errorf("%s: the error holds the token: %v", name, err)
		}
		cl.Close()
		other.Close()
	}
	if seen.Load() != nil {
		t.Error("a redirect took the request to another host")
	}
	for _, bad := range []string{"", "127.0.0.1:8000", "ftp://host", "http://", "http://u:p@host", "http://host?x=1", "::"} {
		if _, err := client.New(bad, "", client.Options{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
			t.Errorf("client.New(%q) = %v, want CodeInvalid", bad, err)
		}
	}
}

func TestClient_GivesUpOnASilentServer(t *testing.T) {
	hold := make(chan struct{})
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "blobs") {
			w.WriteHeader(http.StatusOK)
			_ = http.NewResponseController(w).Flush()
		}
		<-hold
	}))
	defer silent.Close()
	defer close(hold)
	cl := clientOf(t, silent.URL, "", client.Options{Timeout: 50 * time.Millisecond})
	_, err := cl.Workers(t.Context())
	wantCode(t, "call", err, ktrdr.CodeUnavailable)
	blob, err := cl.OpenBlob(t.Context(), ktrdr.Hash{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.ReadAll(blob)
	wantCode(t, "blob", err, ktrdr.CodeUnavailable)
	_ = blob.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := cl.Workers(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled call = %v, want context.Canceled inside", err)
	}
}

func TestClient_NoticesABlobWithOtherBytes(t *testing.T) {
	want := ktrdr.Hash(sha256.Sum256([]byte("right")))
	st := serve(t, &fakeEngine{blobs: map[ktrdr.Hash][]byte{want: []byte("wrong")}})
	blob, err := newClient(t, st, ktrdr.ScopeWorker).OpenBlob(t.Context(), want)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = blob.Close() }()
	_, err = io.ReadAll(blob)
	wantCode(t, "read", err, ktrdr.CodeCorrupt)
}

func TestClient_CarriesAUsersCalls(t *testing.T) {
	var query ktrdr.OperationQuery
	var submitted ktrdr.NewOperation
	var key ktrdr.IdempotencyKey
	st := serve(t, &fakeEngine{
		list: func(q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
			query = q
			return ktrdr.OperationPage{
				Operations: []ktrdr.Operation{{ID: testOp, Spec: json.RawMessage(`{}`), Metadata: json.RawMessage(`{}`)}}, Next: "n",
			}, nil
		},
		submit: func(op ktrdr.NewOperation, k ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
			submitted, key = op, k
			return ktrdr.Operation{ID: op.ID, Status: ktrdr.Pending}, nil
		},
		setPaused: func(bool) error { return nil },
		cleanup:   func(time.Duration) (int, int, error) { return 1, 2, nil },
	})
	cl, ctx := newClient(t, st, ktrdr.ScopeAdmin), t.Context()

	want := ktrdr.OperationQuery{
		Status: []ktrdr.Status{ktrdr.Failed, ktrdr.Running}, Type: []ktrdr.Type{ktrdr.Dummy}, ActiveOnly: true, Roots: true, Resumable: true,
		Parent: testOp, Search: "a_b%", Brief: true, Sort: ktrdr.Ended, Limit: 3, Cursor: "a b&c",
	}
	page, err := cl.List(ctx, want)
	if err != nil || len(page.Operations) != 1 || page.Next != "n" || !cmp.Equal(want, query) {
		t.Errorf("List = %+v, %v; query = %+v", page, err, query)
	}
	started, err := cl.StartDummy(ctx, dummy.Spec{Steps: 4}, "key")
	if err != nil || started.Operation != submitted.ID || !strings.HasSuffix(key.Key, " key") {
		t.Errorf("StartDummy = %+v, %v; key = %q", started, err, key.Key)
	}
	if err := cl.SetPaused(ctx, true); err != nil {
		t.Error(err)
	}
	if out, err := cl.Cleanup(ctx, time.Hour); err != nil || out != (api.CleanupReply{Checkpoints: 1, Blobs: 2}) {
		t.Errorf("Cleanup = %+v, %v", out, err)
	}
	secret, token, err := cl.CreateToken(ctx, "x", ktrdr.ScopeRead)
	if err != nil || HashToken(secret) != st.engine.tokens[len(st.engine.tokens)-1].Hash {
		t.Errorf("CreateToken = %v, %+v, %v", secret, token, err)
	}
	if err := cl.RevokeToken(ctx, token.ID); err != nil {
		t.Error(err)
	}
	wantCode(t, "revoke an unknown token", cl.RevokeToken(ctx, "tok_x"), ktrdr.CodeNotFound)
	if h, err := clientOf(t, st.url, "", client.Options{}).Health(ctx); err != nil || h.Status != "ok" {
		t.Errorf("Health = %+v, %v", h, err)
	}
}

func TestClient_FollowsAnOperationThroughBrokenConnections(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	st.engine.happen(event(ktrdr.EventCreated))
	var got []string
	for e, err := range newClient(t, st, ktrdr.ScopeRead).FollowEvents(t.Context(), testOp, ktrdr.Cursor{}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, string(e.Kind)+e.Cursor.String())
		switch len(got) {
		case 1:
			st.http.CloseIdleConnections()
			st.cut()
			st.engine.happen(event(ktrdr.EventClaimed))
		case 2:
			st.cut()
			st.engine.happen(event(ktrdr.EventCheckpoint), event(ktrdr.EventCompleted))
		}
	}
	if want := []string{"created1-1", "claimed1-2", "checkpoint1-3", "completed1-4"}; !slices.Equal(got, want) {
		t.Errorf("events = %v, want %v", got, want)
	}
}

func TestClient_FollowingEndsAtOnceWithoutAServerAndWithAnError(t *testing.T) {
	st := serve(t, &fakeEngine{operation: known})
	cl := newClient(t, st, ktrdr.ScopeRead)
	follow := func(id ktrdr.OperationID) (err error) {
		n := 0
		for _, err = range cl.FollowEvents(t.Context(), id, ktrdr.Cursor{}) {
			n++
		}
		if n != 1 {
			t.Errorf("%d results, want one error", n)
		}
		return err
	}
	wantCode(t, "unknown operation", follow("op_x"), ktrdr.CodeNotFound)
	st.stop()
	wantCode(t, "no server", follow(testOp), ktrdr.CodeUnavailable)
}

func TestClient_FollowsEverythingFromNowUntilItIsToldToStop(t *testing.T) {
	for name, past := range map[string][]ktrdr.Event{"with a past": {event(ktrdr.EventCreated)}, "from the very beginning": nil} {
		t.Run(name, func(t *testing.T) { followFromNow(t, past) })
	}
}

func followFromNow(t *testing.T, past []ktrdr.Event) {
	t.Helper()
	st := serve(t, &fakeEngine{})
	st.engine.happen(past...)
	cl := newClient(t, st, ktrdr.ScopeRead)
	seen := make(chan ktrdr.Event)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for e, err := range cl.FollowEvents(ctx, "", ktrdr.Cursor{}) {
			if err != nil {
				t.Errorf("error = %v", err)
				return
			}
			seen <- e
		}
	}()
	eventually(t, "the stream is open", func() bool { return st.server.streams.Load() == 1 })
	st.cut() // before the first event: the place must not be lost
	st.engine.happen(event(ktrdr.EventPaused))
	if e := <-seen; e.Kind != ktrdr.EventPaused || e.Cursor.ID != int64(len(past)+1) {
		t.Errorf("event = %+v, want the one after now", e)
	}
	cancel()
	<-done
}

func TestClient_TrustsOnlyTheGivenAuthority(t *testing.T) {
	certs := httptest.NewTLSServer(nil)
	certs.Close()
	st := serve(t, &fakeEngine{}, func(c *Config) {
		c.TLS = &tls.Config{Certificates: certs.TLS.Certificates, MinVersion: tls.VersionTLS12}
	})
	file := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certs.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := clientOf(t, st.url, "", client.Options{CAFile: file}).Health(t.Context()); err != nil {
		t.Errorf("with the authority: %v", err)
	}
	_, err := clientOf(t, st.url, "", client.Options{}).Health(t.Context())
	wantCode(t, "without it", err, ktrdr.CodeUnavailable)
	if _, err := client.New(st.url, "", client.Options{CAFile: filepath.Join(t.TempDir(), "none")}); err == nil {
		t.Error("a missing authority was accepted")
	}
}
