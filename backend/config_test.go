package backend

import (
	"maps"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/instrument"
)

// env is an environment for a test.
type env map[string]string

func (e env) get(name string) string { return e[name] }

// base holds what every configuration needs and no test is about.
var base = env{"KTRDR_DATA": "/data"}

func with(e env) func(string) string {
	all := maps.Clone(base)
	maps.Copy(all, e)
	return all.get
}

func configOf(t *testing.T, flags map[string]Given, e env, file string) (Config, error) {
	t.Helper()
	from := sources{flags: flags, env: fromEnv(with(e))}
	if file != "" {
		var err error
		if from.file, err = parseConfig("ktrdr.yaml", []byte(file)); err != nil {
			return Config{}, err
		}
	}
	return configFrom(from)
}

// butModels leaves out the settings of models, which have their own tests, and where
// each setting was given.
var butModels = cmpopts.IgnoreFields(Config{}, "Models", "Effective")

func TestConfig_HasUsefulDefaults(t *testing.T) {
	got, err := configOf(t, nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addr: "127.0.0.1:8000", Data: "/data", Workers: 2, Agents: 2, CheckpointEvery: 5 * time.Minute,
		Holdout: 0.2, Generation: 8,
		Engine: engine.Settings{
			OrphanTimeout: time.Minute, CheckInterval: 15 * time.Second, RestartPolicy: engine.RestartResume,
			Retention: 30 * 24 * time.Hour, EventRetention: 90 * 24 * time.Hour, DiskReserve: 1 << 30,
		},
	}
	if diff := cmp.Diff(want, got, butModels); diff != "" {
		t.Errorf("defaults (-want +got):\n%s", diff)
	}
	if got, want := got.Database(), filepath.Join("/data", "ktrdr.db"); got != want {
		t.Errorf("database = %s, want %s", got, want)
	}
	if got, want := got.BlobRoot(), filepath.Join("/data", "blobs"); got != want {
		t.Errorf("blobs = %s, want %s", got, want)
	}
}

func TestConfig_FlagsWinOverEnvironmentOverFile(t *testing.T) {
	flag := map[string]Given{"workers": {"7", "--workers"}}
	file := "workers: 3\n"
	for _, tc := range []struct {
		name  string
		flags map[string]Given
		env   env
		file  string
		want  int
	}{
		{"nothing given", nil, nil, "", 2},
		{"only the file", nil, nil, file, 3},
		{"environment over file", nil, env{"KTRDR_WORKERS": "5"}, file, 5},
		{"flag over both", flag, env{"KTRDR_WORKERS": "5"}, file, 7},
		{"an empty variable is not set", nil, env{"KTRDR_WORKERS": ""}, file, 3},
		{"a losing value is not looked at", flag, env{"KTRDR_WORKERS": "many"}, file, 7},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := configOf(t, tc.flags, tc.env, tc.file)
			if err != nil {
				t.Fatal(err)
			}
			if got.Workers != tc.want {
				t.Errorf("workers = %d, want %d", got.Workers, tc.want)
			}
		})
	}
}

func TestConfig_ReadsEverySettingFromAFile(t *testing.T) {
	got, err := configOf(t, nil, nil, `
# a lab with its own times
addr: 127.0.0.1:9000
db: postgres://lab@db/ktrdr
agents: 3
max_researches: 4
costs: [EURUSD=0.5/0.25/1, "*=7/3/0"]
holdout: 0.3
generation: 4
webhook: https://lab.example/ended
hosts: [lab.example, "lab.example:8443"]
restart_policy: fail
auto_resume: false
orphan_timeout_seconds: 1.5
orphan_check_interval_seconds: 0.25
heartbeat_interval_seconds: 0.2
disk_reserve_mb: 0
log_level: debug
checkpointing:
  backend: sqlite
  path: threads.db
  auto_checkpoint: false
  checkpoint_interval_seconds: 12
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Config{
		Addr: "127.0.0.1:9000", Data: "/data", DB: "postgres://lab@db/ktrdr", Workers: 2,
		Agents: 3, MaxResearches: 4, Holdout: 0.3, Generation: 4,
		Costs: instrument.Table{
			"EURUSD": {Commission: 0.00005, Slippage: 0.000025, Spread: 0.0001}, "*": {Commission: 0.0007, Slippage: 0.0003},
		},
		Webhook: "https://lab.example/ended",
		Hosts:   []string{"lab.example", "lab.example:8443"}, LogLevel: -4,
		Threads:          ThreadStore{ThreadsSQLite, "threads.db"},
		NoAutoCheckpoint: true, CheckpointEvery: 12 * time.Second,
		Engine: engine.Settings{
			OrphanTimeout: 1500 * time.Millisecond, CheckInterval: 250 * time.Millisecond, HeartbeatInterval: 200 * time.Millisecond,
			RestartPolicy: engine.RestartFail, NoAutoResume: true,
			Retention: 30 * 24 * time.Hour, EventRetention: 90 * 24 * time.Hour, DiskReserve: -1,
		},
	}
	if diff := cmp.Diff(want, got, butModels); diff != "" {
		t.Errorf("config (-want +got):\n%s", diff)
	}
}

func TestConfig_CheckpointIntervalIsForEveryWorker(t *testing.T) {
	for text, want := range map[string]time.Duration{
		`{}`: 5 * time.Minute,
		`{"checkpointing": {"checkpoint_interval_seconds": 12}}`:                           12 * time.Second,
		`{"checkpointing": {"checkpoint_interval_seconds": 12, "auto_checkpoint": false}}`: -1,
	} {
		c, err := configOf(t, nil, nil, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.engineSettings().CheckpointInterval; got != want {
			t.Errorf("%s: the engine asks for %v, want %v", text, got, want)
		}
	}
}

func TestConfig_FileMayBeJSON(t *testing.T) {
	got, err := configOf(t, nil, nil, `{"workers": 4, "checkpointing": {"backend": "memory", "auto_checkpoint": true}}`)
	if err != nil {
		t.Fatal(err)
	}
	if got.Workers != 4 || got.Threads.Backend != ThreadsMemory || got.NoAutoCheckpoint {
		t.Errorf("got %+v", got)
	}
}

func TestConfig_EachInvalidSettingIsNamed(t *testing.T) {
	for _, tc := range []struct {
		name  string
		env   env
		names string // what the sentence must contain
	}{
		{"negative timeout", env{"ORPHAN_TIMEOUT_SECONDS": "-1"}, "ORPHAN_TIMEOUT_SECONDS=-1: must be a positive number"},
		{"zero timeout", env{"ORPHAN_TIMEOUT_SECONDS": "0"}, "ORPHAN_TIMEOUT_SECONDS=0"},
		{"timeout not a number", env{"ORPHAN_TIMEOUT_SECONDS": "NaN"}, "ORPHAN_TIMEOUT_SECONDS=NaN"},
		{"timeout beyond all time", env{"ORPHAN_TIMEOUT_SECONDS": "1e300"}, "ORPHAN_TIMEOUT_SECONDS=1e300: must be at most 31536000"},
		{"timeout beyond all numbers", env{"ORPHAN_TIMEOUT_SECONDS": "1e999"}, "ORPHAN_TIMEOUT_SECONDS=1e999: must be at most 31536000"},
		{
			"heartbeats that overflow",
			env{"HEARTBEAT_INTERVAL_SECONDS": "3100000000", "ORPHAN_TIMEOUT_SECONDS": "3100000000"},
			"HEARTBEAT_INTERVAL_SECONDS=3100000000: must be at most",
		},
		{"retention beyond a century", env{"CHECKPOINT_RETENTION_DAYS": "1e9"}, "CHECKPOINT_RETENTION_DAYS=1e9: must be at most 36500"},
		{"negative interval", env{"ORPHAN_CHECK_INTERVAL_SECONDS": "-0.5"}, "ORPHAN_CHECK_INTERVAL_SECONDS=-0.5"},
		{"heartbeat in words", env{"HEARTBEAT_INTERVAL_SECONDS": "often"}, "HEARTBEAT_INTERVAL_SECONDS=often"},
		{"timeout under three heartbeats", env{"ORPHAN_TIMEOUT_SECONDS": "2", "HEARTBEAT_INTERVAL_SECONDS": "1"}, "HEARTBEAT_INTERVAL_SECONDS"},
		{"unknown policy", env{"RESTART_POLICY": "shrug"}, "RESTART_POLICY"},
		{"auto resume in words", env{"AUTO_RESUME": "perhaps"}, "AUTO_RESUME=perhaps: must be true or false"},
		{"auth in words", env{"KTRDR_AUTH": "password"}, "KTRDR_AUTH=password"},
		{
			"no auth on another address",
			env{"KTRDR_AUTH": "none", "KTRDR_ADDR": "0.0.0.0:8000", "KTRDR_TLS_TERMINATED_UPSTREAM": "true"},
			"KTRDR_AUTH=none is only for a loopback",
		},
		{"another address without TLS", env{"KTRDR_ADDR": "0.0.0.0:8000"}, "needs TLS"},
		{"every address without TLS", env{"KTRDR_ADDR": ":8000"}, "needs TLS"},
		{"a name is not loopback", env{"KTRDR_ADDR": "localhost.example:8000"}, "needs TLS"},
		{"certificate without key", env{"KTRDR_TLS_CERT": "c.pem"}, "--tls-key"},
		{
			"certificate and upstream",
			env{"KTRDR_TLS_CERT": "c.pem", "KTRDR_TLS_KEY": "k.pem", "KTRDR_TLS_TERMINATED_UPSTREAM": "1"},
			"--tls-terminated-upstream",
		},
		{"address without port", env{"KTRDR_ADDR": "127.0.0.1"}, "KTRDR_ADDR=127.0.0.1: must be HOST:PORT"},
		{"port out of range", env{"KTRDR_ADDR": "127.0.0.1:70000"}, "KTRDR_ADDR=127.0.0.1:70000: must be HOST:PORT"},
		{"too many workers", env{"KTRDR_WORKERS": "5000"}, "KTRDR_WORKERS=5000: must be a whole number from 0 to 1024"},
		{"workers below zero", env{"KTRDR_WORKERS": "-1"}, "KTRDR_WORKERS=-1: must be a whole number from 0 to 1024"},
		{"agents below zero", env{"KTRDR_AGENTS": "-1"}, "KTRDR_AGENTS=-1: must be a whole number from 0 to 1024"},
		{"no researches at all", env{"KTRDR_MAX_RESEARCHES": "0"}, "KTRDR_MAX_RESEARCHES=0: must be a whole number from 1 to 1024"},
		{"costs without a spread", env{"KTRDR_COSTS": "EURUSD=1/1"}, "KTRDR_COSTS=EURUSD=1/1: must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD"},
		{"costs of nothing", env{"KTRDR_COSTS": "=1/1/1"}, "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD"},
		{"costs that pay", env{"KTRDR_COSTS": "*=-1/0/0"}, "*: commission is -1 basis points; it must be 0 to 2000"},
		{"costs that are no number", env{"KTRDR_COSTS": "*=NaN/0/0"}, "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD"},
		{"costs given twice", env{"KTRDR_COSTS": "EURUSD=1/1/1,eurusd=2/2/2"}, "names EURUSD twice"},
		{"nearly all held out", env{"KTRDR_HOLDOUT": "0.9"}, "KTRDR_HOLDOUT=0.9: must be a share of the bars, from 0.05 to 0.5"},
		{"a holdout that is no number", env{"KTRDR_HOLDOUT": "NaN"}, "KTRDR_HOLDOUT=NaN: must be a share"},
		{"an empty generation", env{"KTRDR_GENERATION": "0"}, "KTRDR_GENERATION=0: must be a whole number from 1 to 64"},
		{"a webhook that is no URL", env{"KTRDR_WEBHOOK": "lab.example"}, "KTRDR_WEBHOOK=lab.example: must be a URL"},
		{"workers in words", env{"KTRDR_WORKERS": "two"}, "KTRDR_WORKERS=two"},
		{"unknown database", env{"KTRDR_DB": "mysql://root@db/x"}, "KTRDR_DB=mysql://…: is no database we know"},
		{"a bucket without a name", env{"CHECKPOINT_DIR": "s3://"}, "CHECKPOINT_DIR=s3://…: blob location names no bucket"},
		{"a bucket's unknown setting", env{"CHECKPOINT_DIR": "s3://lab/blobs?reggion=x"}, "unknown setting reggion"},
		{"blobs in another cloud", env{"CHECKPOINT_DIR": "gs://lab/blobs"}, "CHECKPOINT_DIR=gs://…"},
		{"a URL as host", env{"KTRDR_HOSTS": "https://lab.example"}, "KTRDR_HOSTS"},
		{"hardly any connections", env{"KTRDR_MAX_CONNECTIONS": "3"}, "KTRDR_MAX_CONNECTIONS=3: must be a whole number of at least 16"},
		{"more connections than open files", env{"KTRDR_MAX_CONNECTIONS": "4000000000"}, "raise that limit"},
		{"unknown thread store", env{"CHECKPOINTING_BACKEND": "redis"}, "CHECKPOINTING_BACKEND=redis: there is no such value; there are"},
		{"thread store without path", env{"CHECKPOINTING_BACKEND": "postgres"}, "checkpointing.path"},
		{"path without thread store", env{"CHECKPOINTING_PATH": "x.db"}, "checkpointing.path"},
		{"checkpoint interval zero", env{"CHECKPOINT_INTERVAL_SECONDS": "0"}, "CHECKPOINT_INTERVAL_SECONDS=0"},
		{"negative retention", env{"CHECKPOINT_RETENTION_DAYS": "-1"}, "CHECKPOINT_RETENTION_DAYS=-1"},
		{"negative reserve", env{"KTRDR_DISK_RESERVE_MB": "-1"}, "KTRDR_DISK_RESERVE_MB=-1"},
		{"unknown level", env{"KTRDR_LOG_LEVEL": "loud"}, "KTRDR_LOG_LEVEL=loud"},
		{"unknown log format", env{"KTRDR_LOG_FORMAT": "xml"}, "KTRDR_LOG_FORMAT=xml"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := configOf(t, nil, tc.env, "")
			if err == nil || !strings.Contains(err.Error(), tc.names) {
				t.Errorf("err = %v, want one that says %q", err, tc.names)
			}
		})
	}
}

func TestConfig_NamesTheSourceAndNoSecret(t *testing.T) {
	_, err := configOf(t, map[string]Given{"workers": {"-1", "--workers"}}, nil, "db: mysql://root:hunter2@db/x\n")
	if err == nil || !strings.Contains(err.Error(), "--workers=-1: must be") ||
		!strings.Contains(err.Error(), "ktrdr.yaml:1: db=mysql://…: is no") {
		t.Errorf("err = %v, want it to name the flag, and the line of the file", err)
	}
	for _, secret := range []env{{"KTRDR_DB": "mysql://root:hunter2@db/x"}, {"CHECKPOINT_DIR": "s3://key:hunter2@lab/blobs"}} {
		if _, err := configOf(t, nil, secret, ""); err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("err = %v, want one without the password", err)
		}
	}
}

func TestConfig_SaysEverythingThatIsWrongAtOnce(t *testing.T) {
	_, err := configOf(t, nil, env{"ORPHAN_TIMEOUT_SECONDS": "-1", "KTRDR_WORKERS": "x", "AUTO_RESUME": "x"}, "")
	for _, name := range []string{"ORPHAN_TIMEOUT_SECONDS", "KTRDR_WORKERS", "AUTO_RESUME"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("err = %v, want it to name %s too", err, name)
		}
	}
}

func TestConfig_LoopbackNeedsNeitherTokenNorTLS(t *testing.T) {
	for _, addr := range []string{"127.0.0.1:0", "127.8.8.8:8000", "[::1]:8000", "localhost:8000", "[::ffff:127.0.0.1]:80"} {
		if _, err := configOf(t, nil, env{"KTRDR_ADDR": addr, "KTRDR_AUTH": "none"}, ""); err != nil {
			t.Errorf("%s: %v", addr, err)
		}
	}
}

func TestConfigFile_RefusesWhatItDoesNotUnderstand(t *testing.T) {
	for _, tc := range []struct{ name, text, says string }{
		{"unknown key", "wrokers: 2", "ktrdr.yaml:1:1: there is no setting \"wrokers\"; did you mean workers?"},
		{"the environment's name", "\nKTRDR_ADDR: x", "ktrdr.yaml:2:1: there is no setting \"KTRDR_ADDR\"; did you mean addr?"},
		{"unknown nested key", "checkpointing:\n  bakend: memory", "did you mean checkpointing.backend?"},
		{"a key twice", "workers: 2\nworkers: 3", "workers"},
		{"an alias", "addr: &a 127.0.0.1:1\ndb: *a", "anchors and aliases are not allowed"},
		{"a merge key", "a: &a {workers: 1}\n<<: *a", "ktrdr.yaml"},
		{"a mapping for a value", "workers: {n: 2}", "workers must be a single value"},
		{"a section without settings", "checkpointing: yes", "expected settings"},
		{"no value", "workers:", "workers has no value"},
		{"not a mapping", "- 1", "expected settings"},
		{"two documents", "workers: 1\n---\nworkers: 2", "2 documents"},
		{"broken text", "workers: [1", "ktrdr.yaml"},
		{"flow nested deeply", strings.Repeat("[", 30_000), "nested deeper"},
		{"mappings nested deeply", strings.Repeat("{a: ", 15_000), "nested deeper"},
		{"compact lists nested deeply", strings.Repeat("- ", 30_000), "nested deeper"},
		{"blocks nested deeply", nestedBlocks(200), "nested deeper"},
		{"far too large", strings.Repeat("# comment\n", 10_000), "larger than"},
		{"a bad value", "workers: lots", "ktrdr.yaml:1: workers=lots: must be a whole number"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := configOf(t, nil, nil, tc.text)
			if err == nil || !strings.Contains(err.Error(), tc.says) {
				t.Errorf("err = %v, want one that says %q", err, tc.says)
			}
		})
	}
}

func nestedBlocks(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.Repeat(" ", i) + "a:\n")
	}
	return b.String()
}

func TestConfigFile_EmptyIsFine(t *testing.T) {
	for _, text := range []string{"", "# nothing yet\n", "---\n", "{}"} {
		if found, err := parseConfig("ktrdr.yaml", []byte(text)); err != nil || len(found) != 0 {
			t.Errorf("%q: found %v, err %v", text, found, err)
		}
	}
}

func TestConfigFile_MissingIsNamed(t *testing.T) {
	_, err := fromFile(filepath.Join(t.TempDir(), "none.yaml"))
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "there is no configuration file") ||
		!strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("err = %v, want CodeInvalid with the name of the file", err)
	}
}

// FuzzConfigFile: whatever the file holds, the answer is settings or a
// sentence, never a panic, and it comes soon.
func FuzzConfigFile(f *testing.F) {
	for _, seed := range []string{
		"", "workers: 2", "{\"workers\": 2}", "hosts: [a, b]", "a: &a [*a]", "? x\n: y", "checkpointing: {backend: memory}",
		"%YAML 1.2\n---\n!!int 3",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		found, err := parseConfig("f.yaml", text)
		if err != nil {
			return
		}
		for key := range found {
			if key == "" {
				t.Errorf("a setting without a name from %q", text)
			}
		}
	})
}
