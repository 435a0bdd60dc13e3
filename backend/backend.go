package backend

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/compute"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/httpapi"
	"github.com/ktrdr/ktrdr/internal/tracing"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/mcp"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/thread"
	"github.com/ktrdr/ktrdr/worker"
)

// A stop must be over within the 25 s after which supervisors lose patience;
// workers and server stop side by side.
const (
	StopWorkersWithin = 20 * time.Second
	stopServerWithin  = 10 * time.Second
)

// blobGrace is how long a blob may be without a row: far longer than any
// worker takes between writing it and naming it.
const blobGrace = 24 * time.Hour

// Backend is everything `ktrdr serve` is made of:
//
//	             ┌─────────── listener ── httpapi.Server ──┐
//	data folder ─┤                                         ├─ engine ── store
//	 (locked)    └─ in-process worker ── engine.Local() ───┘        └── blobs
//
// It is opened from the bottom up and closed in the opposite order.
type Backend struct {
	Process
	cfg      Config
	store    *sqlstore.Store
	reads    atomic.Int64 // statements of the store's reads
	blobs    blob.Store
	kernel   neural.Kernel
	engine   *engine.Engine
	desk     *compute.Service
	library  *library.Library
	markets  *library.Markets
	research *research.Desk
	fetcher  *fetch.Fetcher
	self     ktrdr.Backend
	traces   *tracing.Tracing // nil: nothing is traced
	listener net.Listener
	server   *httpapi.Server
	workers  []*worker.Worker  // that compute, and that design and assess
	asks     agent.ModelAccess // the models that agents may ask
	models   *modelWiring
	opened   resilience.Undo // closes what was opened, the last first

	began    ktrdr.Cursor           // the last event before this life
	outcomes *prometheus.CounterVec // of researches that ended in it

	expireThreads func(context.Context) (int, error) // nil when the main store keeps them
}

// Process is what a backend needs to know of the process that it runs in.
type Process struct {
	Version string // of this program
	Log     *slog.Logger
	Stderr  io.Writer // gets what child processes write there
	Getenv  func(string) string
}

// Open opens a backend. It answers no request before Run. After an error it
// must be closed too.
func Open(ctx context.Context, cfg Config, p Process) (*Backend, error) {
	b := &Backend{cfg: cfg, Process: p}
	return b, b.open(ctx)
}

// Close closes what was opened, the last first, and returns err with what went
// wrong meanwhile.
func (b *Backend) Close(ctx context.Context, err error) error { return b.opened.Rollback(ctx, err) }

func (b *Backend) open(ctx context.Context) error {
	b.outcomes = newOutcomes()
	for _, step := range []func(context.Context) error{
		b.openTraces, b.openFolder,
		// The port is bound before anything is touched, so that a second backend
		// on it changes nothing; no request is answered before the engine has started.
		b.listen,
		b.openStores, b.startEngine, b.openModels, b.openDesk, b.makeServer, b.makeWorkers,
	} {
		if err := step(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (b *Backend) openFolder(context.Context) error {
	if err := MakeFolder(b.cfg.Data); err != nil {
		return err
	}
	unlock, err := sqlstore.LockFolder(b.cfg.Data)
	if err != nil {
		return err
	}
	b.later("folder", unlock)
	return RefuseRestoring(b.cfg.Data)
}

func (b *Backend) listen(ctx context.Context) error {
	l, err := ListenOn(ctx, b.cfg.Addr)
	if err != nil {
		return err
	}
	b.listener = l
	b.later("listener", func() error {
		if err := l.Close(); !errors.Is(err, net.ErrClosed) { // the server closes it too
			return err
		}
		return nil
	})
	return nil
}

func (b *Backend) openStores(ctx context.Context) (err error) {
	if err := refuseWrongBlobs(ctx, b.cfg); err != nil {
		return err
	}
	b.store, err = sqlstore.Open(ctx, sqlstore.Config{
		URL: b.cfg.Database(), Types: Types(), Log: b.Log, Statements: &b.reads,
		HeartbeatTry: max(time.Second, min(5*time.Second, b.cfg.Engine.WithDefaults().HeartbeatInterval/2)),
	})
	if err != nil {
		return fmt.Errorf("database: %w", err)
	}
	b.later("database", b.store.Close)
	b.blobs, err = blob.Open(ctx, b.cfg.BlobRoot())
	if err != nil {
		return fmt.Errorf("blobs: %w", err)
	}
	b.later("blobs", b.blobs.Close)
	if err := (Storage{b.store, b.blobs}).Join(ctx, b.cfg); err != nil {
		return err
	}
	if b.began, err = b.store.LastEvent(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

func (b *Backend) startEngine(ctx context.Context) error {
	id, err := backendID(b.cfg.Data)
	if err != nil {
		return fmt.Errorf("backend id: %w", err)
	}
	host, _ := os.Hostname() // for people; a machine without a name is no reason not to start
	saver, inline, err := b.openThreads(ctx)
	if err != nil {
		return err
	}
	b.self = ktrdr.Backend{
		ID: id, Incarnation: ktrdr.Incarnation(id + "." + randomHex(8)), Addr: b.listener.Addr().String(),
		Host: host, PID: os.Getpid(), Version: b.Version,
	}
	b.engine, err = engine.New(engine.Config{
		Store: b.store, Blobs: b.blobs, Saver: saver, Inline: inline, Backend: b.self, Settings: b.cfg.engineSettings(), Log: b.Log,
		Types: Types(), Collect: b.collect, Trash: trash{b.blobs}, FreeDisk: b.freeDisk, Full: func() time.Time { return b.server.Full() },
		Queues: []engine.Queue{{Name: research.QueueName, Limit: research.Limit(b.cfg.MaxResearches)}}, Inject: b.cfg.inject(),
	})
	if err != nil {
		return err
	}
	return b.engine.Start(ctx)
}

// freeDisk is the free space of the fullest disk that we write to ourselves.
func (b *Backend) freeDisk() (int64, error) {
	dirs := []string{b.cfg.Data}
	if !strings.Contains(b.cfg.BlobRoot(), "://") {
		dirs = append(dirs, b.cfg.BlobRoot())
	}
	if file, ok := SQLiteFile(b.cfg.Database()); ok {
		dirs = append(dirs, filepath.Dir(file))
	}
	least := int64(math.MaxInt64)
	for _, dir := range dirs {
		free, err := FreeDisk(dir)
		if err != nil {
			return 0, err
		}
		least = min(least, free)
	}
	return least, nil
}

// ThreadsAt is the database that programs that are not ours keep their
// checkpoints in; false when they have none of their own.
func (c Config) ThreadsAt() (at string, own bool) {
	at = c.Threads.Path
	if c.Threads.Backend == ThreadsSQLite && !filepath.IsAbs(at) {
		at = filepath.Join(c.Data, at)
	}
	return at, c.Threads.Backend != "" && c.Threads.Backend != ThreadsMemory
}

// openThreads opens the saver of other programs' checkpoints. Of the main store,
// values of more than inline bytes become blobs; any other keeps all values
// itself.
func (b *Backend) openThreads(ctx context.Context) (saver thread.Saver, inline int, err error) {
	if b.cfg.Threads.Backend == "" {
		return b.store.Saver(), thread.InlineValue, nil
	}
	at, _ := b.cfg.ThreadsAt()
	s, err := sqlstore.Open(ctx, sqlstore.Config{URL: at, Memory: b.cfg.Threads.Backend == ThreadsMemory, Log: b.Log})
	if err != nil {
		return nil, 0, fmt.Errorf("checkpointing.path: %w", err)
	}
	same, err := s.Same(ctx, b.store)
	if err != nil || same { // it is the main store under another name
		return b.store.Saver(), thread.InlineValue, errors.Join(err, s.Close())
	}
	b.later("threads", s.Close)
	b.expireThreads = func(ctx context.Context) (int, error) {
		return s.ExpireCheckpoints(ctx, b.cfg.Engine.WithDefaults().Retention)
	}
	return s.Saver(), 0, nil
}

// collect deletes blobs that no row names any more, and threads that have
// expired in a store of their own; the main store sees to its own.
func (b *Backend) collect(ctx context.Context) (int, error) {
	for expired := 1; expired > 0 && b.expireThreads != nil; {
		var err error
		if expired, err = b.expireThreads(ctx); err != nil {
			return 0, fmt.Errorf("expire threads: %w", err)
		}
	}
	done, err := blob.Collect(ctx, b.blobs, b.store.BlobRefs(ctx), blobGrace, time.Now())
	return done.Deleted, err
}

// openDesk opens what turns requests into operations.
func (b *Backend) openDesk(ctx context.Context) (err error) {
	if b.kernel, err = KernelNamed(b.cfg.Kernel); err != nil {
		return err
	}
	b.markets, b.library = library.NewMarkets(b.engine, b.blobs), library.NewLibrary(b.store, b.blobs)
	if err := b.takeOver(ctx); err != nil {
		return err
	}
	if b.fetcher, err = b.cfg.Fetch.Open(); err != nil {
		return err
	}
	b.later("fetcher", func() error { b.fetcher.Close(); return nil })
	b.desk, err = compute.OpenService(compute.ServiceConfig{
		Dir: b.cfg.Data, Library: b.library, Blobs: b.blobs, Operations: b.engine, Markets: b.markets, Ledger: b.engine, Pins: b.engine,
		Holdout: b.cfg.Holdout, Kernel: b.kernel, Fetcher: b.fetcher, Instruments: b.instruments,
	})
	if err == nil {
		b.later("desk", b.desk.Close)
	}
	return err
}

func (b *Backend) makeServer(context.Context) (err error) {
	researches, err := b.researchDesk()
	if err != nil {
		return err
	}
	cfg := httpapi.Config{
		Pages: b.makePages, Assistants: b.makeAssistants,
		Engine: b.engine, Desk: b.desk, Research: researches, Resilience: b.models, Log: b.Log, Auth: !b.cfg.NoAuth, Hosts: b.hosts(),
		Types: Types(), Settings: b.cfg.Effective, MaxConns: b.cfg.maxConnections(), Grace: stopServerWithin,
		Metrics: []prometheus.Collector{b.outcomes, b.readStatements(), b.models, b.models.decisions, b.models.spent},
		Traces:  b.traces,
	}
	if b.cfg.UsesTLS() {
		cert, err := b.cfg.Certificate()
		if err != nil {
			return err
		}
		cfg.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	}
	b.server, err = httpapi.New(cfg) //nolint:contextcheck // a row has the context of its request
	return err
}

// makePages makes what browsers see. It reads the API of the server as any other
// client does.
func (b *Backend) makePages(transport http.RoundTripper) (httpapi.Pages, error) {
	lab, err := client.New("http://localhost", "", client.Options{Version: b.Version, Transport: transport})
	if err != nil {
		return nil, err
	}
	cfg := page.Config{Lab: lab, Sessions: b.store, Events: b.engine, Log: b.Log, Version: b.Version, Proxied: b.cfg.TLSUpstream}
	if b.cfg.NoAuth {
		cfg.Sessions = nil
	}
	return page.New(cfg)
}

// makeAssistants makes what AI assistants use. It is a client of the API that sees no
// holdout, whatever token it acts as.
func (b *Backend) makeAssistants(transport http.RoundTripper) (httpapi.Assistants, error) {
	lab, err := client.New("http://localhost", "", client.Options{Version: b.Version, Transport: transport, Assistant: api.AssistantSealed})
	if err != nil {
		return httpapi.Assistants{}, err
	}
	return httpapi.Assistants{
		Protocol: mcp.New(mcp.Config{Lab: lab, Version: b.Version}).Handler(), MaxBody: mcp.MaxRequest,
		Texts: map[string]string{"/llms.txt": mcp.Index, "/SKILL.md": mcp.Skill},
	}, nil
}

func (b *Backend) readStatements() prometheus.Collector {
	return prometheus.NewCounterFunc(prometheus.CounterOpts{
		Name: "ktrdr_store_read_statements_total", Help: "Statements that this backend sent to the database to read.",
	}, func() float64 { return float64(b.reads.Load()) })
}

// hosts are the names we answer to: those of the configuration, and the
// address itself when it is one.
func (b *Backend) hosts() []string {
	host, _, _ := net.SplitHostPort(b.cfg.Addr)
	ip := net.ParseIP(host)
	if Loopback(host) || host == "" || ip != nil && ip.IsUnspecified() {
		return b.cfg.Hosts
	}
	return append(slices.Clone(b.cfg.Hosts), host)
}

func (b *Backend) makeWorkers(context.Context) error {
	for _, w := range []struct {
		name  string
		at    place
		slots int
	}{{"in-process", inBackend, b.cfg.Workers}, {"agents", byAgents, b.cfg.Agents}} {
		if w.slots == 0 {
			continue
		}
		made, err := worker.New(worker.Config{
			Name: w.name, Runners: b.runners(w.at), Slots: w.slots, HeldBy: b.self.Incarnation,
			Version: b.Version, Log: b.Log, StopWithin: StopWorkersWithin, Child: b.runChild, Traces: b.traces,
		}, b.engine.Local())
		if err != nil {
			return err
		}
		b.workers = append(b.workers, made)
	}
	return nil
}

// Run keeps everything running until ctx ends. The engine outlives workers and
// server, because both need it to say goodbye.
func (b *Backend) Run(ctx context.Context) error {
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	var engineErr error
	engineDone := make(chan struct{})
	go func() {
		defer close(engineDone)
		engineErr = b.engine.Run(life)
	}()

	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return b.server.Serve(ctx, b.listener) })
	for _, w := range b.workers {
		g.Go(func() error { return w.Run(ctx) })
	}
	hook := &webhook{url: b.cfg.Webhook, runs: b.engine, changed: b.engine.Changed, log: b.Log}
	g.Go(func() error { return hook.run(ctx) })
	ends := &outcomeCounter{events: b.engine, counts: b.outcomes, log: b.Log, after: b.began}
	g.Go(func() error { return ends.run(ctx) })
	g.Go(func() error { return b.exportTraces(ctx) })
	g.Go(func() error { return b.keepRuns(ctx) })
	g.Go(func() error { return b.followClaims(ctx) })
	g.Go(func() error { return b.followSources(ctx) })
	g.Go(func() error { b.assignMarkets(ctx); return nil })
	g.Go(func() error { return b.watch(ctx) })
	g.Go(func() error { return b.models.registry.Run(ctx) })
	g.Go(func() error {
		select {
		case <-ctx.Done():
		case <-engineDone: // only an error ends it first; the rest then stops too
		}
		b.Log.Info("stopping")
		b.engine.Drain()
		select {
		case <-engineDone:
			return engineErr
		default:
			return nil
		}
	})
	err := g.Wait()
	end()
	<-engineDone
	return cmp.Or(err, engineErr)
}

// later remembers how to close what was opened.
func (b *Backend) later(what string, closer func() error) {
	b.opened.Did(what, func(context.Context) error { return closer() })
}
