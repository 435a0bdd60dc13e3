package backend

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/research"
)

// Config is everything a backend can be told. It comes from settings, in the
// order flags, environment, file, default, and is checked once by Validate.
type Config struct {
	Addr    string
	Data    string // the data folder
	DB      string // empty means ktrdr.db in the data folder
	Workers int    // in-process workers, one operation each
	Kernel  string // arithmetic of networks; empty means the fastest of this CPU

	Agents        int                 // designs and assessments at once, in-process
	MaxResearches int                 // active at once; 0 means what the workers can do
	Gates         research.Gates      // what researches must reach to continue
	Costs         instrument.Table    // cost floors of researches, by symbol
	Holdout       float64             // share of the bars that only a verdict sees
	Generation    int                 // researches of a run that do not know of each other
	Injections    research.Injections // what is to go wrong on purpose
	Webhook       string              // URL that gets a message for every run that ended; empty: none

	NoAuth      bool
	Hosts       []string // host names, besides loopback, under which the API may be called
	TLSCert     string
	TLSKey      string
	TLSUpstream bool // a proxy in front of us speaks TLS

	MaxConnections int // open at once; 0 means what the descriptor limit allows

	Blobs   string // empty means blobs/ in the data folder
	Threads ThreadStore

	NoAutoCheckpoint bool          // checkpoints only where the work itself asks for them
	CheckpointEvery  time.Duration // time between periodic checkpoints

	Engine engine.Settings
	Models Models
	Fetch  Fetch

	LogLevel slog.Level
	LogJSON  bool

	Effective []ktrdr.EffectiveSetting // every setting, and where it was given; for people
}

// Fetch says where prices may be fetched from.
type Fetch struct {
	Networks []string                // that are allowed although they are not public
	Sources  map[string]ktrdr.Secret // addresses of mirrors and of sources of the user's own, by name
}

// Open makes a Fetcher.
func (f Fetch) Open() (*fetch.Fetcher, error) {
	networks, err := fetch.ParseNetworks(f.Networks)
	if err != nil {
		return nil, err
	}
	return fetch.New(fetch.Config{Networks: networks, Addresses: f.Sources})
}

// ThreadStore says where checkpoints of programs that are not ours are kept.
type ThreadStore struct {
	Backend string // memory, sqlite or postgres; empty means the main store
	Path    string // of the SQLite file, or the PostgreSQL URL
}

// The backends of a ThreadStore.
const (
	ThreadsMemory   = "memory"
	ThreadsSQLite   = "sqlite"
	threadsPostgres = "postgres"
)

// Database returns the URL of the main store.
func (c Config) Database() string { return cmp.Or(c.DB, filepath.Join(c.Data, "ktrdr.db")) }

// BlobRoot returns where blobs are kept.
func (c Config) BlobRoot() string { return cmp.Or(c.Blobs, filepath.Join(c.Data, "blobs")) }

// engineSettings returns what the engine is to keep to.
func (c Config) engineSettings() engine.Settings {
	s := c.Engine
	s.CheckpointInterval = c.CheckpointEvery
	if c.NoAutoCheckpoint {
		s.CheckpointInterval = -1
	}
	return s
}

func (c Config) maxConnections() int {
	return cmp.Or(c.MaxConnections, min(usualConnections, ConnectionLimit()))
}

// UsesTLS says whether we speak TLS ourselves.
func (c Config) UsesTLS() bool { return c.TLSCert != "" }

// Validate joins everything that is wrong about settings that must fit each
// other, each as a sentence that names them and what to do.
func (c Config) Validate() error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	if c.Data == "" {
		bad("there is no data folder: give one with --data or KTRDR_DATA")
	}
	problems = append(problems, c.validateAddr()...)
	problems = append(problems, c.Models.validate()...)
	switch c.Threads.Backend {
	case "", ThreadsMemory:
		if c.Threads.Path != "" {
			bad("checkpointing.path is only for checkpointing.backend sqlite or postgres: remove it, or choose one of them")
		}
	case ThreadsSQLite, threadsPostgres:
		if c.Threads.Path == "" {
			bad("checkpointing.backend %s needs checkpointing.path: a file for sqlite, a URL for postgres", c.Threads.Backend)
		}
	}
	return errors.Join(append(problems, c.Engine.Validate())...)
}

// validateAddr holds the rules of who may reach us: an address that others can
// reach needs both a token and TLS.
func (c Config) validateAddr() []error {
	var problems []error
	bad := func(format string, args ...any) { problems = append(problems, fmt.Errorf(format, args...)) }

	host, port, _ := net.SplitHostPort(c.Addr)
	if (c.TLSCert == "") != (c.TLSKey == "") {
		bad("--tls-cert and --tls-key belong together: give both, or neither")
	}
	if c.TLSCert != "" && c.TLSUpstream {
		bad("--tls-terminated-upstream says that a proxy speaks TLS: leave out --tls-cert and --tls-key, or leave it out")
	}
	if Loopback(host) {
		return problems
	}
	if c.NoAuth {
		bad("KTRDR_AUTH=none is only for a loopback address: %s can be reached by others, so remove it or use --addr 127.0.0.1:%s", c.Addr, port)
	}
	if !c.UsesTLS() && !c.TLSUpstream {
		bad("%s can be reached by others, so it needs TLS: give --tls-cert and --tls-key, or --tls-terminated-upstream when a proxy does it, "+
			"or use --addr 127.0.0.1:%s", c.Addr, port)
	}
	return problems
}

// Loopback says whether only this machine can reach host. A name other than
// localhost may resolve to anything, so it does not count.
func Loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback()
}

// DefaultData is the user's data directory, or "" when there is no home.
func DefaultData(getenv func(string) string) string {
	if dir := getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "ktrdr")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Application Support", "ktrdr")
	}
	return filepath.Join(home, ".local", "share", "ktrdr")
}
