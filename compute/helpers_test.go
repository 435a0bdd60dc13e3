package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/strategy/strategytest"
	"github.com/ktrdr/ktrdr/worker"
	"github.com/ktrdr/ktrdr/worker/workertest"
)

// shelf is a blob store in the memory of a backend.
type shelf struct {
	b    *workertest.FakeBackend
	puts int
}

type onShelf struct{ *bytes.Reader }

func (onShelf) Close() error { return nil }

func (s *shelf) Put(_ context.Context, want ktrdr.Hash, r io.Reader) (int64, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return 0, err
	}
	s.puts++
	s.b.SetBlob(want, data)
	return int64(len(data)), nil
}

func (s *shelf) Open(_ context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	data, ok := s.b.Blobs()[h]
	if !ok {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return onShelf{bytes.NewReader(data)}, nil
}

func (s *shelf) Stat(_ context.Context, h ktrdr.Hash) (ktrdr.BlobInfo, error) {
	data, ok := s.b.Blobs()[h]
	if !ok {
		return ktrdr.BlobInfo{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no blob %s", h)
	}
	return ktrdr.BlobInfo{Hash: h, Size: int64(len(data))}, nil
}

// office is a desk, the backend that its operations go to, and the results of
// operations that have ended.
type office struct {
	*library.Markets // nil: no test calls the methods that office does not have

	library *library.Library
	store   *sqlstore.Store // of the library
	t       testing.TB
	dir     string
	desk    *Service
	blobs   *shelf
	b       *workertest.FakeBackend
	ended   []ktrdr.Operation // newest first
	now     ktrdr.OperationID // the one that runs

	markets map[string]*ktrdr.Market // by symbol: each is a market of its own
	looks   []ktrdr.NewLook          // that were reserved without an operation
}

func (o *office) Of(_ context.Context, b *market.Bars) (ktrdr.Market, error) {
	m := o.markets[b.Symbol]
	if m == nil {
		m = &ktrdr.Market{ID: "mkt_" + b.Symbol}
		o.markets[b.Symbol] = m
	}
	return *m, nil
}

func (o *office) FixHoldout(ctx context.Context, id string, from time.Time) (time.Time, error) {
	if _, err := o.Market(ctx, id); err != nil {
		return from, err
	}
	m := o.markets[strings.TrimPrefix(id, "mkt_")]
	if m.HoldoutFrom.IsZero() {
		m.HoldoutFrom = from
	}
	return m.HoldoutFrom, nil
}

func (o *office) Market(_ context.Context, id string) (ktrdr.Market, error) {
	if m := o.markets[strings.TrimPrefix(id, "mkt_")]; m != nil {
		return *m, nil
	}
	return ktrdr.Market{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no market %s", id)
}

func (o *office) ReserveLook(_ context.Context, l ktrdr.NewLook) (ktrdr.Look, error) {
	i := slices.IndexFunc(o.looks, func(k ktrdr.NewLook) bool { return k.Key == l.Key })
	if i < 0 {
		o.looks = append(o.looks, l)
		i = len(o.looks) - 1
	}
	return ktrdr.Look{Key: l.Key, Markets: []ktrdr.LookMarket{{Market: l.Markets[0], Number: i + 1}}}, nil
}

func (o *office) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	for _, op := range o.ended {
		if op.ID == id {
			return op, nil
		}
	}
	return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no operation %s", id)
}

func (o *office) List(_ context.Context, q ktrdr.OperationQuery) (page ktrdr.OperationPage, err error) {
	for _, op := range o.ended {
		if slices.Contains(q.Type, op.Type) && op.Status == q.Status[0] && (q.Parent == "" || q.Parent == op.Parent) {
			page.Operations = append(page.Operations, op)
		}
	}
	return page, nil
}

// newOffice makes a desk whose library has bars of the given symbols.
func newOffice(t testing.TB, bars int, symbols ...string) *office {
	t.Helper()
	o := &office{t: t, dir: t.TempDir(), b: workertest.New(), markets: map[string]*ktrdr.Market{}}
	o.b.Every = 50 * time.Millisecond
	o.blobs = &shelf{b: o.b}
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: filepath.Join(t.TempDir(), "ktrdr.db"), Types: Types()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	o.store, o.library = store, library.NewLibrary(store, o.blobs)
	if o.desk, err = OpenService(
		ServiceConfig{Dir: o.dir, Library: o.library, Blobs: o.blobs, Operations: o, Markets: o, Ledger: o},
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = o.desk.Close() })
	for i, symbol := range symbols {
		o.synth(symbol, market.H1, bars, uint64(i+1))
	}
	return o
}

func (o *office) synth(symbol string, tf market.Timeframe, bars int, seed uint64) {
	o.t.Helper()
	o.add(market.Synth(market.SynthConfig{Symbol: symbol, Timeframe: tf, Bars: bars, Seed: seed, Edge: 0.3}))
}

// add puts bars into the library.
func (o *office) add(b *market.Bars) {
	o.t.Helper()
	puts := o.blobs.puts
	defer func() { o.blobs.puts = puts }() // only those of the desk are counted
	if _, err := o.library.Import(o.t.Context(), library.Import{Bars: b, Mode: jobs.ImportReplace, Origin: ktrdr.BarsSynthetic}); err != nil {
		o.t.Fatal(err)
	}
}

// file puts a file into the data folder.
func (o *office) file(name, text string) {
	o.t.Helper()
	path := filepath.Join(o.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		o.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// train orders a training that the desk must accept.
func (o *office) train(r jobs.TrainingRequest) jobs.Accepted {
	o.t.Helper()
	order, err := o.desk.Training(o.t.Context(), r)
	if err != nil {
		o.t.Fatal(err)
	}
	return order
}

// attempts says how an operation is run: each attempt begins with a runner of
// its own, which may stop it after some steps.
type attempts func(n int, stop func(error)) worker.Runner

// run carries an order to its end and resumes it whenever it is stopped.
func (o *office) run(order jobs.Accepted, with attempts) ktrdr.Operation {
	o.t.Helper()
	id := ktrdr.NewOperationID(order.Operation.Type, time.Now())
	o.now = id
	o.b.Create(id, order.Operation.Type, order.Operation.Spec)
	if Types()[order.Operation.Type].Local {
		o.claimed(id, order.Operation)
	}
	r := &relay{with: with}
	w, err := worker.New(worker.Config{Runners: map[ktrdr.Type]worker.Runner{order.Operation.Type: r}}, o.b)
	if err != nil {
		o.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(o.t.Context(), 2*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- w.Run(ctx) }()
	defer func() {
		cancel()
		if err := <-done; err != nil {
			o.t.Error(err)
		}
	}()
	for {
		op, err := o.b.Wait(ctx, id, func(op ktrdr.Operation) bool { return op.Status.Terminal() })
		if err != nil {
			o.t.Fatal(err)
		}
		if op.Status == ktrdr.Completed || op.Error == nil || op.Error.Code != ktrdr.CodeUnavailable {
			o.ended = append([]ktrdr.Operation{op}, o.ended...)
			return op
		}
		if err := o.b.Act(id, ktrdr.Act{Input: ktrdr.Resume}); err != nil {
			o.t.Fatal(err)
		}
	}
}

// claimed makes the store of the library know an operation that the backend
// hands out, under the same first epoch.
func (o *office) claimed(id ktrdr.OperationID, n ktrdr.NewOperation) {
	o.t.Helper()
	n.ID = id
	if _, err := o.store.Create(o.t.Context(), n, ktrdr.IdempotencyKey{}); err != nil {
		o.t.Fatal(err)
	}
	task, err := o.store.Claim(o.t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: string(id), Types: []ktrdr.Type{n.Type}, Free: 1}, "inside")
	if err != nil || task == nil || task.Operation != id {
		o.t.Fatalf("claimed %+v, %v, want %s", task, err, id)
	}
}

// relay gives every attempt its runner, and the means to stop it as a worker
// that shuts down does.
type relay struct {
	with attempts
	n    int
}

func (r *relay) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	r.n++
	return r.with(r.n, cancel).Run(ctx, t)
}

// once runs an operation in one go.
func once(r worker.Runner) attempts { return func(int, func(error)) worker.Runner { return r } }

// resultOf decodes what an operation must have completed with.
func resultOf[T any](t testing.TB, op ktrdr.Operation) T {
	t.Helper()
	var r T
	if op.Status != ktrdr.Completed {
		t.Fatalf("%s ended %s: %s", op.ID, op.Status, op.ErrorMessage)
	}
	if err := json.Unmarshal(op.Result, &r); err != nil {
		t.Fatalf("result of %s: %v", op.ID, err)
	}
	return r
}

// small is a strategy that trains in a moment.
func small(change ...string) string { return strategytest.Small(change...) }

var best = neural.Best()
