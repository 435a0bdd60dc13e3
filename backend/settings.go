package backend

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/research"
)

// Setting is one thing a backend can be told, under the names it has in the
// file, in the environment and on the command line. One table makes the flags,
// the help and the precedence, so that they cannot disagree.
type Setting struct {
	Key     string // in the file; nested keys are joined by dots
	Env     string
	Flag    string // empty: only environment and file
	Kind    string // for the help: what a value looks like
	Default string // for the help, and applied when nothing else is given
	Help    string
	set     func(text string) error
}

func setting(key, env, flag, kind, usual, help string, set func(string) error) Setting {
	return Setting{key, env, flag, kind, usual, help, set}
}

// Settings are all settings of a backend.
func Settings() []Setting { return new(Config).settings() }

func (c *Config) settings() []Setting { return append(c.ownSettings(), c.modelSettings()...) }

func (c *Config) ownSettings() []Setting {
	return []Setting{
		setting("addr", "KTRDR_ADDR", "addr", "HOST:PORT", "127.0.0.1:8000", "address to listen on", c.setAddr),
		setting("data", "KTRDR_DATA", "data", "DIR", "", "data folder (default: ktrdr in the user's data directory)", setText(&c.Data)),
		setting("db", "KTRDR_DB", "db", "URL", "", "database: a SQLite file or postgres://… (default: DATA/ktrdr.db)", c.setDB),
		setting("workers", "KTRDR_WORKERS", "workers", "N", "2",
			"compute workers inside this process", setCount(&c.Workers, 0, maxWorkers)),
		setting("agents", "KTRDR_AGENTS", "agents", "N", "2",
			"designs and assessments at once inside this process; 0: another backend does them", setCount(&c.Agents, 0, maxWorkers)),
		setting("max_researches", "KTRDR_MAX_RESEARCHES", "", "N", "",
			"researches active at once (default: slots that train + slots that backtest + 1)", setCount(&c.MaxResearches, 1, maxWorkers)),
		setting("costs", "KTRDR_COSTS", "", "SYMBOL=C/S/S,…", "",
			"cost floors of researches in basis points, commission/slippage/spread, such as EURUSD=0.5/0.5/1,*=5/5/0; instruments.yaml wins",
			setParsed(&c.Costs, instrument.ParseTable)),
		setting("holdout", "KTRDR_HOLDOUT", "", "SHARE", "0.2",
			"share of the bars, at their end, that is the holdout of a new market", c.setHoldout),
		setting("generation", "KTRDR_GENERATION", "", "N", "8",
			"researches in a generation", setCount(&c.Generation, 1, research.MaxGeneration)),
		setting("inject", "KTRDR_INJECT", "", "ACTION:PHASE:TEXT,…", "",
			"failures on purpose, to test recovery, such as fail:training:INJECT_FAILURE",
			setParsed(&c.Injections, research.ParseInjections)),
		setting("webhook", "KTRDR_WEBHOOK", "", "URL", "", "URL that gets a POST for each run that has ended", c.setWebhook),
		setting("fetch_sources", "KTRDR_FETCH_SOURCES", "", "NAME=ADDRESS …", "",
			"mirrors of sources of prices, and addresses of your own with {symbol}; separated by spaces", c.setFetchSources),
		setting("fetch_networks", "KTRDR_FETCH_NETWORKS", "", "NETWORK,…", "",
			"networks that prices may be fetched from although they are not public, such as 10.1.0.0/16", c.setFetchNetworks),
		setting("kernel", "KTRDR_KERNEL", "", "NAME", "",
			"arithmetic of networks: "+kernelNames()+" (default: the fastest of this CPU)", c.setKernel),
		setting("auth", "KTRDR_AUTH", "", "token|none", "token",
			"none: no token needed; only on a loopback address",
			setOneOf(func(word string) { c.NoAuth = word == "none" }, "token", "none")),
		setting("hosts", "KTRDR_HOSTS", "", "NAME,…", "",
			"host names, besides loopback, under which the API may be called", c.setHosts),
		setting("max_connections", "KTRDR_MAX_CONNECTIONS", "", "N", "",
			"connections open at once, a quarter of them for workers only (default: half of the descriptor limit, at most 16384)",
			c.setMaxConnections),
		setting("tls_cert", "KTRDR_TLS_CERT", "tls-cert", "FILE", "", "certificate, PEM", setText(&c.TLSCert)),
		setting("tls_key", "KTRDR_TLS_KEY", "tls-key", "FILE", "", "private key of the certificate, PEM", setText(&c.TLSKey)),
		setting("tls_terminated_upstream", "KTRDR_TLS_TERMINATED_UPSTREAM", "tls-terminated-upstream", "bool", "false",
			"a proxy in front speaks TLS", setBool(&c.TLSUpstream, true)),
		setting("log_level", "KTRDR_LOG_LEVEL", "log-level", "LEVEL", "info", "debug, info, warn or error", c.setLevel),
		setting("log_format", "KTRDR_LOG_FORMAT", "log-format", "FORMAT", "text",
			"text or json", setOneOf(func(word string) { c.LogJSON = word == "json" }, "text", "json")),
		setting("restart_policy", "RESTART_POLICY", "", "resume|fail", "resume",
			"work that a dead backend ran itself: resume it, or leave it FAILED", setText((*string)(&c.Engine.RestartPolicy))),
		setting("auto_resume", "AUTO_RESUME", "", "bool", "true",
			"resume trainings and backtests of a research whose worker died", setBool(&c.Engine.NoAutoResume, false)),
		setting("orphan_timeout_seconds", "ORPHAN_TIMEOUT_SECONDS", "", "SECONDS", "60",
			"seconds without a heartbeat after which a worker counts as dead", setSeconds(&c.Engine.OrphanTimeout)),
		setting("orphan_check_interval_seconds", "ORPHAN_CHECK_INTERVAL_SECONDS", "", "SECONDS", "15",
			"time between two checks of the orphan detector", setSeconds(&c.Engine.CheckInterval)),
		setting("heartbeat_interval_seconds", "HEARTBEAT_INTERVAL_SECONDS", "", "SECONDS", "",
			"time between heartbeats (default: a sixth of the timeout, at most 10)", setSeconds(&c.Engine.HeartbeatInterval)),
		setting("checkpoint_dir", "CHECKPOINT_DIR", "", "DIR|s3://…", "", "where blobs are stored (default: DATA/blobs)", c.setBlobs),
		setting("checkpoint_retention_days", "CHECKPOINT_RETENTION_DAYS", "", "DAYS", "30",
			"age at which checkpoints are deleted", setParsed(&c.Engine.Retention, Days)),
		setting("event_retention_days", "EVENT_RETENTION_DAYS", "", "DAYS", "90",
			"age at which events are deleted", setParsed(&c.Engine.EventRetention, Days)),
		setting("compact", "KTRDR_COMPACT", "", "bool", "true",
			"researches that are neither finalists nor pinned keep only figures; files are computed again on demand",
			setBool(&c.Engine.NoCompaction, false)),
		setting("disk_reserve_mb", "KTRDR_DISK_RESERVE_MB", "", "MB", "1024",
			"free disk below which new work is refused; 0: no reserve", c.setReserve),
		setting("checkpointing.backend", "CHECKPOINTING_BACKEND", "", "NAME", "",
			"store of /threads: memory, sqlite or postgres (default: the main store)",
			setOneOf(func(word string) { c.Threads.Backend = word }, ThreadsMemory, ThreadsSQLite, threadsPostgres)),
		setting("checkpointing.path", "CHECKPOINTING_PATH", "", "FILE|URL", "",
			"database of the checkpointing backend: a file or a URL", setText(&c.Threads.Path)),
		setting("checkpointing.auto_checkpoint", "AUTO_CHECKPOINT", "", "bool", "true",
			"checkpoint periodically by time", setBool(&c.NoAutoCheckpoint, false)),
		setting("checkpointing.checkpoint_interval_seconds", "CHECKPOINT_INTERVAL_SECONDS", "", "SECONDS", "300",
			"time between periodic checkpoints", setSeconds(&c.CheckpointEvery)),
	}
}

// Given is a value and where it was written, so that a complaint can name it.
type Given struct {
	Text  string
	Where string // "--workers", "KTRDR_WORKERS", "ktrdr.yaml:3: workers"
}

// shown is the value as it may be told: a URL may hold a password.
func (g Given) shown() string {
	if scheme, _, ok := strings.Cut(g.Text, "://"); ok {
		return scheme + "://…"
	}
	return g.Text
}

// effective is the setting as it may be shown.
func (s Setting) effective(g Given, given bool) ktrdr.EffectiveSetting {
	e := ktrdr.EffectiveSetting{
		Key: s.Key, Env: s.Env, Flag: s.Flag, Value: s.Default, From: "default", Default: s.Default, Help: s.Help,
	}
	if given {
		e.Value, e.From, e.Changed = g.shown(), g.Where, strings.TrimSpace(g.Text) != s.Default
	}
	text := strings.ToLower(e.Value)
	if strings.Contains(text, "password") || strings.Contains(text, "secret") || strings.Contains(text, "@") {
		e.Value = "…"
	}
	return e
}

// ReadConfig puts together what flags, the environment and a configuration file
// give. Flags win over the environment, and the environment over the file. Flags
// are by the key of their setting.
func ReadConfig(flags map[string]Given, file string, getenv func(string) string) (Config, error) {
	from := sources{flags: flags, env: fromEnv(getenv)}
	if file = cmp.Or(file, getenv("KTRDR_CONFIG")); file != "" {
		var err error
		if from.file, err = fromFile(file); err != nil {
			return Config{}, err
		}
	}
	if _, ok := from.find("data"); !ok {
		from.env["data"] = Given{DefaultData(getenv), "the user's data directory"}
	}
	cfg, err := configFrom(from)
	if err != nil {
		return Config{}, err
	}
	if _, err := cfg.Models.open(getenv); err != nil { // keys are no settings, and can be wrong like any
		return Config{}, err
	}
	cfg.Gates, err = research.GatesFrom(getenv)
	return cfg, err
}

// sources holds what was given, by the setting's key. The earlier wins.
type sources struct {
	flags, env, file map[string]Given
}

func (s sources) find(key string) (Given, bool) {
	for _, from := range []map[string]Given{s.flags, s.env, s.file} {
		if g, ok := from[key]; ok {
			return g, true
		}
	}
	return Given{}, false
}

// fromEnv collects the settings that the environment gives. An empty variable
// counts as not set, as in a compose file that passes one on.
func fromEnv(getenv func(string) string) map[string]Given {
	found := map[string]Given{}
	for _, s := range Settings() {
		if v := getenv(s.Env); v != "" {
			found[s.Key] = Given{v, s.Env}
		}
	}
	return found
}

// configFrom makes a Config of what was given and says everything that is
// wrong with it at once.
func configFrom(from sources) (Config, error) {
	var (
		c        Config
		problems []error
	)
	for _, s := range c.settings() {
		g, ok := from.find(s.Key)
		c.Effective = append(c.Effective, s.effective(g, ok))
		if !ok {
			if s.Default == "" {
				continue
			}
			g = Given{s.Default, "default of " + s.Key}
		}
		if err := s.set(strings.TrimSpace(g.Text)); err != nil {
			problems = append(problems, fmt.Errorf("%s=%s: %w", g.Where, g.shown(), err))
		}
	}
	if len(problems) > 0 {
		return Config{}, errors.Join(problems...)
	}
	return c, c.Validate()
}

func setText(to *string) func(string) error {
	return func(text string) error { *to = text; return nil }
}

// setBool sets a switch, or its opposite.
func setBool(to *bool, on bool) func(string) error {
	return func(text string) error {
		v, err := strconv.ParseBool(strings.ToLower(text))
		if err != nil {
			return errors.New("must be true or false")
		}
		*to = v == on
		return nil
	}
}

func setCount(to *int, least, most int) func(string) error {
	return func(text string) error {
		n, err := strconv.Atoi(text)
		if err != nil || n < least || n > most {
			return fmt.Errorf("must be a whole number from %d to %d", least, most)
		}
		*to = n
		return nil
	}
}

// Bounds of what is given as a number of seconds or days: no user means more,
// and sums and small multiples of them are still Durations.
const (
	day     = 24 * time.Hour
	year    = 365 * day
	longest = 100 * year
)

// Days reads a number of days; fractions are allowed.
func Days(text string) (time.Duration, error) { return positive(text, day, longest) }

func positive(text string, unit, most time.Duration) (time.Duration, error) {
	n, err := strconv.ParseFloat(text, 64)
	if n > float64(most)/float64(unit) { // also when it is out of range
		return 0, fmt.Errorf("must be at most %d", most/unit)
	}
	if err != nil || math.IsNaN(n) || n <= 0 {
		return 0, errors.New("must be a positive number; fractions are allowed")
	}
	return max(time.Duration(n*float64(unit)), time.Microsecond), nil
}

func setSeconds(to *time.Duration) func(string) error {
	return setParsed(to, func(text string) (time.Duration, error) { return positive(text, time.Second, year) })
}

func setParsed[T any](to *T, parse func(string) (T, error)) func(string) error {
	return func(text string) (err error) { *to, err = parse(text); return err }
}
