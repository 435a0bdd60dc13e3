package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/thread"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fakeEngine answers what a test gives it an answer for. Everything else falls
// through to the nil Engine inside and panics, which the server turns into a
// 500: a request that should have been refused cannot pass unnoticed.
type fakeEngine struct {
	Engine

	register   func(ktrdr.Registration) (ktrdr.Registered, error)
	heartbeat  func(ktrdr.Heartbeat) (ktrdr.Orders, error)
	claim      func(context.Context, ktrdr.ClaimRequest) (ktrdr.ClaimReply, error)
	finish     func(ktrdr.Finished) error
	release    func(ktrdr.Released) error
	checkpoint func(ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error)
	skip       func(ktrdr.Skip) (*ktrdr.StoredCheckpoint, error)
	submit     func(ktrdr.NewOperation, ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	operation  func(ktrdr.OperationID) (ktrdr.Operation, error)
	list       func(ktrdr.OperationQuery) (ktrdr.OperationPage, error)
	cancel     func(ktrdr.OperationID, string) (ktrdr.Operation, []ktrdr.OperationID, error)
	resume     func(ktrdr.OperationID) (ktrdr.Operation, error)
	retry      func(ktrdr.OperationID, ktrdr.IdempotencyKey) (ktrdr.Operation, error)
	setPaused  func(bool) error
	checkAt    func(ktrdr.OperationID, string) (ktrdr.Checkpoint, error)
	cleanup    func(time.Duration) (int, int, error)
	liveClaim  func(ktrdr.OperationID, ktrdr.Epoch) error
	mayRead    func(ktrdr.Hash) error
	health     func() ktrdr.Health
	saver      thread.Saver
	runs       func(ktrdr.RunQuery) (ktrdr.RunPage, error)
	cancelRun  func(id, by, reason string) (ktrdr.Run, error)
	looks      func(ktrdr.LookQuery) (ktrdr.LookPage, error)
	lookOf     func(ktrdr.OperationID) (ktrdr.Look, error)
	reserve    func(ktrdr.NewLook) (ktrdr.Look, error)
	trials     func(ktrdr.TrialQuery) (ktrdr.TrialPage, error)

	mu        sync.Mutex
	run       ktrdr.Run // the only one
	shortRuns bool      // it is found by the beginning of its id too
	runReads  int
	tokens    []ktrdr.Token
	lookups   int
	blobs     map[ktrdr.Hash][]byte
	log       []ktrdr.Event
	changed   chan struct{}
}

func (f *fakeEngine) Register(_ context.Context, r ktrdr.Registration) (ktrdr.Registered, error) {
	return f.register(r)
}

func (f *fakeEngine) Heartbeat(_ context.Context, h ktrdr.Heartbeat) (ktrdr.Orders, error) {
	return f.heartbeat(h)
}

func (f *fakeEngine) Claim(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
	return f.claim(ctx, c)
}

func (f *fakeEngine) Finish(_ context.Context, fin ktrdr.Finished) error { return f.finish(fin) }

func (f *fakeEngine) Release(_ context.Context, r ktrdr.Released) error { return f.release(r) }

func (f *fakeEngine) Checkpoint(_ context.Context, c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
	return f.checkpoint(c)
}

func (f *fakeEngine) SkipCheckpoint(_ context.Context, s ktrdr.Skip) (*ktrdr.StoredCheckpoint, error) {
	return f.skip(s)
}

func (f *fakeEngine) SubmitAll(_ context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) (made []ktrdr.Operation,
	err error,
) {
	for i := range ops {
		if keys[i].Key != "" {
			ops[i].ID = ktrdr.NewOperationID(ops[i].Type, time.Now())
		}
		one, err := f.submit(ops[i], keys[i])
		if err != nil {
			return nil, err
		}
		made = append(made, one)
	}
	return made, nil
}

func (f *fakeEngine) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return f.operation(id)
}

func (f *fakeEngine) List(_ context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error) {
	return f.list(q)
}

func (f *fakeEngine) Cancel(_ context.Context, id ktrdr.OperationID, why string) (ktrdr.Operation, []ktrdr.OperationID, error) {
	return f.cancel(id, why)
}

func (f *fakeEngine) ResumeFrom(_ context.Context, id ktrdr.OperationID, _ string) (ktrdr.Operation, error) {
	return f.resume(id)
}

func (f *fakeEngine) Retry(_ context.Context, id ktrdr.OperationID, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	return f.retry(id, key)
}

func (f *fakeEngine) SetPaused(_ context.Context, paused bool) error { return f.setPaused(paused) }

func (f *fakeEngine) CheckpointAt(_ context.Context, op ktrdr.OperationID, id string) (ktrdr.Checkpoint, error) {
	return f.checkAt(op, id)
}

func (f *fakeEngine) Cleanup(_ context.Context, age time.Duration) (checkpoints, blobs int, err error) {
	return f.cleanup(age)
}

func (f *fakeEngine) MayUpload(_ context.Context, op ktrdr.OperationID, e ktrdr.Epoch, _ ktrdr.Hash) error {
	return f.liveClaim(op, e)
}

func (f *fakeEngine) Saver() thread.Saver { return f.saver }

func (f *fakeEngine) Counters() ktrdr.Counters {
	return ktrdr.Counters{Orphaned: 3, WritesRefused: 5, HeartbeatsLost: 7, HeartbeatLateness: 1500 * time.Millisecond}
}

func (f *fakeEngine) Health(context.Context) ktrdr.Health {
	if f.health != nil {
		return f.health()
	}
	return ktrdr.Health{
		Status: "ok", Store: ktrdr.StoreHealth{OK: true},
		Operations: []ktrdr.Count{{Type: ktrdr.Dummy, Status: ktrdr.Running, N: 2}},
		Waiting: []ktrdr.Waiting{
			{Type: ktrdr.Dummy, N: 1, Oldest: 90 * time.Second}, {Type: ktrdr.Dummy, BackendLocal: true, N: 2, Oldest: time.Second},
		},
		Workers: ktrdr.WorkerCounts{Live: 4, ByType: map[ktrdr.Type]ktrdr.WorkerSlots{ktrdr.Dummy: {Busy: 1, Total: 2}}},
	}
}

func (f *fakeEngine) AddToken(_ context.Context, t ktrdr.Token) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.tokens = append(f.tokens, t)
	return nil
}

func (f *fakeEngine) Tokens(context.Context) ([]ktrdr.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.tokens), nil
}

func (f *fakeEngine) RevokeToken(_ context.Context, id string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.tokens {
		if f.tokens[i].ID == id {
			f.tokens[i].RevokedAt = time.Now()
			return nil
		}
	}
	return ktrdr.Errorf(ktrdr.CodeNotFound, "no token %s", id)
}

func (f *fakeEngine) TokenByHash(_ context.Context, h ktrdr.Hash) (ktrdr.Token, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lookups++
	for _, t := range f.tokens {
		if t.Hash == h {
			return t, nil
		}
	}
	return ktrdr.Token{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no such token")
}

func (f *fakeEngine) PutBlob(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	if sha256.Sum256(data) != want {
		return 0, ktrdr.Errorf(ktrdr.CodeCorrupt, "the bytes have another hash")
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.blobs == nil {
		f.blobs = make(map[ktrdr.Hash][]byte)
	}
	f.blobs[want] = data
	return int64(len(data)), nil
}

type fakeBlob struct{ *bytes.Reader }

func (fakeBlob) Close() error { return nil }

func (f *fakeEngine) OpenBlob(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	data, ok := f.blobs[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return fakeBlob{bytes.NewReader(data)}, nil
}

func (f *fakeEngine) MayRead(_ context.Context, h ktrdr.Hash) error {
	if f.mayRead == nil {
		return nil
	}
	return f.mayRead(h)
}

func (f *fakeEngine) StatBlob(ctx context.Context, h ktrdr.Hash) (int64, error) {
	blob, err := f.OpenBlob(ctx, h)
	if err != nil {
		return 0, err
	}
	return blob.Size(), nil
}

// happen adds events to the log, as a committed transaction would.
func (f *fakeEngine) happen(events ...ktrdr.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range events {
		e.Cursor = ktrdr.Cursor{Tx: 1, ID: int64(len(f.log) + 1)}
		f.log = append(f.log, e)
	}
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func (f *fakeEngine) Changed() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

func (f *fakeEngine) Events(_ context.Context, q ktrdr.EventQuery) (page []ktrdr.Event, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, e := range f.log {
		if e.Cursor.ID > q.After.ID && (q.Operation == "" || e.Operation == q.Operation) &&
			(len(q.Kinds) == 0 || slices.Contains(q.Kinds, e.Kind)) && len(page) < q.Limit {
			page = append(page, e)
		}
	}
	return page, nil
}

func (f *fakeEngine) LastEvent(context.Context) (ktrdr.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return ktrdr.Cursor{Tx: 1, ID: int64(len(f.log))}, nil
}

func (f *fakeEngine) EventBefore(_ context.Context, n int) (ktrdr.Cursor, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return ktrdr.Cursor{Tx: 1, ID: int64(max(0, len(f.log)-n))}, nil
}

// site is a server under test on a real socket.
type site struct {
	url    string
	addr   string
	server *Server
	engine *fakeEngine
	logged *lockedBuffer
	tokens map[ktrdr.Scope]ktrdr.Secret
	http   *http.Client
	conns  *connections
	stop   func()
}

const testOp ktrdr.OperationID = "op_dummy_20260101_000000_abcdef01"

var testTypes = ktrdr.MergeTypes(dummy.Types(), compute.Types(), research.Types())

// serve starts a server that ends with the test.
func serve(t testing.TB, engine *fakeEngine, change ...func(*Config)) *site {
	t.Helper()
	st := &site{engine: engine, logged: &lockedBuffer{}, tokens: make(map[ktrdr.Scope]ktrdr.Secret)}
	for _, scope := range []ktrdr.Scope{ktrdr.ScopeAdmin, ktrdr.ScopeWorker, ktrdr.ScopeRead} {
		secret, token := NewToken("test", scope)
		st.tokens[scope] = secret
		engine.tokens = append(engine.tokens, token)
	}
	c := Config{
		Types: testTypes, Engine: engine, Desk: &fakeDesk{}, Research: &fakeResearch{}, Resilience: &fakeResilience{}, Auth: true,
		Log: slog.New(slog.NewTextHandler(st.logged, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if st.server, err = New(c); err != nil {
		t.Fatal(err)
	}
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	st.addr = l.Addr().String()
	st.url = "http://" + st.addr
	if c.TLS != nil {
		st.url = "https://" + st.addr
	}
	st.http = &http.Client{Transport: &http.Transport{ExpectContinueTimeout: 10 * time.Second}}
	st.conns = &connections{Listener: l}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- st.server.Serve(ctx, st.conns) }()
	st.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve = %v", err)
		}
	})
	t.Cleanup(func() {
		st.http.CloseIdleConnections()
		st.stop()
	})
	return st
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
	parsed struct {
		Success *bool           `json:"success"`
		Data    json.RawMessage `json:"data"`
		Error   *api.Failure    `json:"error"`
		Next    string          `json:"next_cursor"`
	}
}

func (a *answer) code() ktrdr.Code {
	if a.parsed.Error == nil {
		return ""
	}
	return a.parsed.Error.Code
}

// send makes a request as an admin; options change it.
func (st *site) send(t testing.TB, method, path, body string, options ...func(*http.Request)) *answer {
	t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(t.Context(), method, st.url+path, r)
	if err != nil {
		t.Fatal(err)
	}
	as(st, ktrdr.ScopeAdmin)(req)
	if body != "" {
		req.Header.Set("Content-Type", api.ContentJSON)
	}
	for _, o := range options {
		o(req)
	}
	res, err := st.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	a := &answer{status: res.StatusCode, header: res.Header}
	if a.body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	_ = json.Unmarshal(a.body, &a.parsed) // tests that want an envelope look at Success
	return a
}

func as(st *site, scope ktrdr.Scope) func(*http.Request) {
	return header("Authorization", "Bearer "+st.tokens[scope].Reveal())
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) {
		r.Header.Set(name, value)
		if value == "" {
			r.Header.Del(name)
		}
	}
}

// lockedBuffer is a log that a test may read while it is written.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// connections is a listener that remembers its connections, and counts
// how often they are written to.
type connections struct {
	net.Listener
	writes atomic.Int64
	mu     sync.Mutex
	all    []net.Conn
}

type countedConn struct {
	net.Conn
	writes *atomic.Int64
}

func (c countedConn) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}

func (l *connections) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err == nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, conn)
	}
	return countedConn{conn, &l.writes}, err
}

// cut breaks every connection with the server, as a network would.
func (st *site) cut() {
	st.conns.mu.Lock()
	defer st.conns.mu.Unlock()
	for _, conn := range st.conns.all {
		_ = conn.Close()
	}
	st.conns.all = nil
}
