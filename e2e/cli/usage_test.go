package cli

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/docs"
)

func TestCLI_SaysWhatIsWrongWithTheCommandLine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, tc := range []struct {
		name, says string
		args       []string
	}{
		{"unknown command", "there is no command `ktrdr frobnicate`", []string{"frobnicate"}},
		{"misspelt command", "did you mean `ktrdr status`?", []string{"statsu"}},
		{"unknown flag", "unknown flag: --fast; see `ktrdr serve --help`", []string{"serve", "--fast"}},
		{"misspelt flag", "did you mean --workers?", []string{"serve", "--wokers", "2"}},
		{"misspelt global flag", "did you mean --json?", []string{"data", "list", "--jsno"}},
		{"misspelt subcommand", "did you mean `ktrdr data import`?", []string{"data", "imprt"}},
		{"misspelt subcommand of memory", "did you mean `ktrdr memory show`?", []string{"memory", "shoe"}},
		{"misspelt subcommand of claim", "did you mean `ktrdr claim verify`?", []string{"claim", "verfy"}},
		{"a claim that is not there", "nothing.zip", []string{"claim", "verify", "nothing.zip"}},
		{"misspelt subcommand of breakers", "did you mean `ktrdr breakers reset`?", []string{"breakers", "rest"}},
		{"misspelt subcommand of strategies", "did you mean `ktrdr strategies add`?", []string{"strategies", "ad"}},
		{"misspelt kind of event", "did you mean worker_lost?", []string{"events", "--kind", "worker_lst"}},
		{"misspelt status", "did you mean running? there are pending, ", []string{"ops", "--status", "runnning"}},
		{"misspelt type", "did you mean training? there are ", []string{"ops", "--type", "trainning"}},
		{"misspelt order of operations", "--sort newst: did you mean newest? there are newest, ", []string{"ops", "--sort", "newst"}},
		{"misspelt order of runs", "--sort oldst: did you mean oldest? ", []string{"runs", "--sort", "oldst"}},
		{"misspelt order of leaders", "--sort shrpe: did you mean sharpe? there are rank, ", []string{"leaderboard", "--sort", "shrpe"}},
		{"misspelt state of runs", "--state runnin: did you mean running? ", []string{"runs", "--state", "runnin"}},
		{
			"misspelt state of a breaker", "did you mean closed? there are open, closed, auto",
			[]string{"breakers", "force", "provider:a", "clsed", "--by", "ann", "--why", "to see"},
		},
		{"misspelt scope", "--scope wroker: did you mean worker? ", []string{"token", "create", "x", "--scope", "wroker"}},
		{
			"misspelt example", "there is no example \"rsi_mean_revrsion\"; did you mean rsi_mean_reversion? ",
			[]string{"strategies", "example", "rsi_mean_revrsion"},
		},
		{"misspelt shell", "did you mean bash? there are bash, zsh, ", []string{"completion", "bahs"}},
		{"misspelt look-ahead", "did you mean same-bar-fill? ", []string{"check", "lookahead", "rsi_mean_reversion", "--plant", "same_bar_fil"}},
		{"misspelt indicator", "did you mean macd?", []string{"indicators", "mcad"}},
		{"misspelt timeframe", "did you mean 4h? there are 1m, ", []string{"data", "show", "EURUSD", "4hr"}},
		{"misspelt timeframe of a research", "did you mean 15m? ", []string{"data", "resample", "EURUSD", "15mn", "1h"}},
		{
			"misspelt level of the log", "--log-level=wran: there is no such value; did you mean warn? there are debug, ",
			[]string{"serve", "--log-level", "wran"},
		},
		{
			"misspelt flag of import", "unknown flag: --apend; did you mean --append? see `ktrdr data import --help`",
			[]string{"data", "import", "--apend", "x"},
		},
		{"misspelt subcommand of help", "did you mean `ktrdr token create`?", []string{"help", "token", "craete"}},
		{"misspelt command of help", "did you mean `ktrdr help research`?", []string{"help", "reserch"}},
		{"misspelt strategy", "did you mean rsi_mean_reversion?", []string{"strategies", "show", "rsi_mean_revrsion"}},
		{"strategy file that is not there", "there is no strategy file none.yaml", []string{"train", "none.yaml"}},
		{"model file that is not there", "there is no model file none.safetensors", []string{"backtest", "none.safetensors"}},
		{"model file that is not there, by its path", "there is no model file ./none", []string{"predict", "./none"}},
		{"backup that is not there", "there is no backup file none.backup", []string{"restore", "none.backup"}},
		{"file of instruments that is not there", "there is no file of instruments none.yaml", []string{"instruments", "set", "none.yaml"}},
		{"argument too many", "takes no argument", []string{"version", "please"}},
		{"argument missing", "takes one RUN or OPERATION", []string{"follow"}},
		{"fetch of nothing", "takes a SOURCE, a SYMBOL and a TIMEFRAME, such as binance BTCUSDT 1h", []string{"data", "fetch", "binance"}},
		{"misspelt timeframe of a fetch", "did you mean 15m? ", []string{"data", "fetch", "binance", "BTCUSDT", "15mn"}},
		{"misspelt source to follow", "did you mean kraken? ", []string{"data", "follow", "krakn", "XBTUSD", "1h"}},
		{
			"a series that is fetched too often", "choose from 5s to 31 days",
			[]string{"data", "follow", "kraken", "XBTUSD", "1h", "--every", "1s"},
		},
		{
			"a folder to follow that is not there", "there is no folder /nonexistent on this machine",
			[]string{"data", "follow", "--folder", "/nonexistent"},
		},
		{"a relative folder to follow", "is not absolute", []string{"data", "follow", "--folder", "prices"}},
		{"a folder and a source", "--folder takes no SOURCE", []string{"data", "follow", "kraken", "XBTUSD", "1h", "--folder", "/tmp"}},
		{"a folder with a symbol", "--folder takes no SOURCE", []string{"data", "follow", "--as", "BTC", "--folder", "/tmp"}},
		{"a folder that is watched too often", "choose from 5s to 31 days", []string{"data", "follow", "--folder", "/tmp", "--every", "1s"}},
		{"no zone of a folder", "is no time zone", []string{"data", "follow", "--folder", "/tmp", "--zone", "Mars"}},
		{"a zone of a source", "it needs --folder", []string{"data", "follow", "kraken", "XBTUSD", "1h", "--zone", "UTC"}},
		{"following nothing every hour", "say what to keep current", []string{"data", "follow", "--every", "1h"}},
		{"a folder that is not followed", "/nowhere is not kept current", []string{"data", "unfollow", "--folder", "/nowhere"}},
		{"misspelt source to check", "there is no source \"krakn\"; did you mean kraken? ", []string{"data", "fetch", "--check", "krakn"}},
		{"unknown subcommand", "there is no command `ktrdr token steal`", []string{"token", "steal"}},
		{"unknown status", "--status sleeping", []string{"ops", "--status", "sleeping"}},
		{"unknown type", "--type juggling", []string{"ops", "--type", "juggling"}},
		{"limit out of range", "--limit must be", []string{"ops", "--limit", "0"}},
		{"spec out of range", "steps", []string{"dummy", "--steps", "0"}},
		{"URL without scheme", "--url must look like", []string{"ops", "--url", "localhost"}},
		{
			"CA that is not there", "there is no certificate file /nonexistent/ca.pem; name another with --ca",
			[]string{"ops", "--ca", "/nonexistent/ca.pem"},
		},
		{
			"type that only a backend runs", "this build can run backtesting, calibration_part, dummy, examination, factory_part, training",
			[]string{"worker", "--types", "data_load"},
		},
		{"training without a strategy", "takes one STRATEGY", []string{"train"}},
		{"backtest without a model", "takes one MODEL", []string{"backtest"}},
		{"no bars to predict", "--last must be", []string{"predict", "x", "--last", "0"}},
		{"more models than are listed", "--limit must be", []string{"models", "--limit", "0"}},
		{"no slots", "--slots must be", []string{"worker", "--slots", "0"}},
		{"shell we do not know", "no completion for", []string{"completion", "tcsh"}},
		{"bad cursor", "--after", []string{"events", "--after", "yesterday"}},
		{"not a number of days", "--days 0: must be a positive number", []string{"checkpoints", "cleanup", "--days", "0"}},
		{"more days than there are", "--days 1e+300: must be at most 36500", []string{"checkpoints", "cleanup", "--days", "1e300"}},
		{"help on nothing there is", "there is no command and no topic \"nosuch\"; `ktrdr help topics`", []string{"help", "nosuch"}},
		{"misspelt topic of help", "did you mean `ktrdr help glossary`?", []string{"help", "glosary"}},
		{"help on two topics", "takes a command or one topic", []string{"help", "glossary", "security"}},
		{"help on no subcommand", "there is no command `ktrdr token nosuch`", []string{"help", "token", "nosuch"}},
		{"seed below zero", "for \"--seed\" flag: it must be a whole number, 0 or more; see", []string{"research", "--seed", "-1"}},
		{"seed of too many digits", "it must be a number with fewer digits", []string{"research", "--seed", "99999999999999999999"}},
		{"share that is not a number", "it must be a number; see", []string{"demo", "--edge", "much"}},
		{
			"breaker held sideways", "is not held \"sideways\"; there are open, closed, auto",
			[]string{"breakers", "force", "provider:a", "sideways", "--by", "ann", "--why", "to see"},
		},
		{"unknown scope", "--scope root: there are admin, worker, read", []string{"token", "create", "x", "--scope", "root"}},
		{"invalid token", "--token holds a space", []string{"ops", "--token", "two words"}},
		{"reset without a name", "with --by and --why", []string{"breakers", "reset", "provider:a", "--why", "mended"}},
		{"force without a reason", "with --by and --why", []string{"breakers", "force", "provider:a", "open", "--by", "ann", "--why", " "}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := *l
			l.t = t
			l.refused(exitUsage, tc.says, tc.args...)
		})
	}
}

func TestCLI_SaysWhatIsWrongWithTheEnvironment(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, env, says string
		args            []string
	}{
		{"invalid token", "KTRDR_TOKEN=ktrdr_\x01", "KTRDR_TOKEN holds a space or another character", []string{"ops"}},
		{"token with a line end", "KTRDR_TOKEN=ktrdr_x\n", "KTRDR_TOKEN holds a space or another character", []string{"worker"}},
		{"bucket without a name", "CHECKPOINT_DIR=s3://", "CHECKPOINT_DIR=s3://…: blob location names no bucket", []string{"serve"}},
		{"bucket that backup reads", "CHECKPOINT_DIR=s3://lab?x=y", "unknown setting x", []string{"backup", "-"}},
		{"unknown kernel", "KTRDR_KERNEL=abacus", `kernel "abacus" is not one of those that this CPU runs`, []string{"worker"}},
		{"unknown kernel of a backend", "KTRDR_KERNEL=abacus", `KTRDR_KERNEL=abacus: kernel "abacus"`, []string{"serve"}},
		{"misspelt kernel", "KTRDR_KERNEL=portble", "did you mean portable? ", []string{"worker"}},
		{"misspelt form of the log", "KTRDR_LOG_FORMAT=jsn", "did you mean json? there are text, json", []string{"serve"}},
		{"misspelt way to restart", "RESTART_POLICY=resme", "did you mean resume? ", []string{"serve"}},
		{"misspelt way to ask for tokens", "KTRDR_AUTH=tokn", "did you mean token? ", []string{"serve"}},
		{"workers below zero", "KTRDR_WORKERS=-1", "KTRDR_WORKERS=-1: must be", []string{"serve"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			newLab(t, tc.env).refused(exitUsage, tc.says, tc.args...)
		})
	}
}

func TestServe_SaysWhatIsWrongWithItsModels(t *testing.T) {
	t.Parallel()
	const key = "sk-canary-0123456789"
	for name, tc := range map[string]struct{ env, says string }{
		"a name that no journal keeps":   {"KTRDR_MODELS=openai/" + strings.Repeat("m", 249), "at most 255 bytes"},
		"a name that is no text":         {"KTRDR_MODELS=openai/m\xff", "all of them text"},
		"a name that rings":              {"KTRDR_MODELS=openai/m\x07", "all of them text"},
		"a name that turns around":       {"KTRDR_MODELS=openai/m\u202e", "all of them text"},
		"a provider that rings":          {"KTRDR_PROVIDERS=a\x07=http://127.0.0.1", "must be NAME=URL"},
		"a provider twice":               {"KTRDR_PROVIDERS=a=http://127.0.0.1,a=http://127.0.0.2", `"a" is named twice`},
		"an invalid port":                {"KTRDR_PROVIDERS=a=http://127.0.0.1:99999", "ports are 1 to 65535"},
		"a port and no host":             {"KTRDR_PROVIDERS=a=http://:80", "must be NAME=URL"},
		"a key in an address":            {"KTRDR_PROVIDERS=a=http://127.0.0.1/#" + key, "keys come from A_API_KEY"},
		"a price twice":                  {"KTRDR_MODEL_PRICES=a/m=1/2,a/m=0/0", `the price of "a/m" is given twice`},
		"a breaker that nothing opens":   {"CIRCUIT_BREAKER_FAILURE_THRESHOLD=0", "must be a whole number from 1 to 1000"},
		"a breaker that no probe closes": {"CIRCUIT_BREAKER_HALF_OPEN_MAX_CALLS=0", "must be a whole number from 1 to 1000"},
		"a key of two lines": {
			"OPENAI_API_KEY=" + key + "\nX-Evil: 1", "OPENAI_API_KEY: the key of openai holds a control character",
		},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLab(t, "KTRDR_MODELS=openai/m", tc.env)
			l.refused(exitUsage, tc.says, "serve", "--addr", "127.0.0.1:0")
			if a := l.run("serve", "--addr", "127.0.0.1:0"); strings.Contains(a.out+a.err, key) {
				t.Errorf("it shows the key: %v", a)
			}
		})
	}
}

func TestServe_TakesNamesAndKeysAsTheyComeFromFiles(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_MODELS=openai/"+strings.Repeat("m", 248), "OPENAI_API_KEY=\n sk-canary-0123456789 \r\n")
	p, _ := l.serve("--workers", "0")
	if log := p.Err(); !strings.Contains(log, "has no price and will not be asked") || strings.Contains(log, "canary") ||
		strings.Contains(log, "has no key") {
		t.Errorf("the log shows the key, or does not name a model without a price:\n%s", log)
	}
}

func TestServe_NamesModelsThatCannotBeAsked(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_MODELS=anthropic/claude-sonnet-5,own/small", "KTRDR_PROVIDERS=own=http://127.0.0.1:9/v1",
		"KTRDR_MODEL_PRICES=own/small=0/0")
	_, said := l.serve("--workers", "0")
	want := []string{"anthropic/claude-sonnet-5 has no key and cannot answer: set ANTHROPIC_API_KEY"}
	if !slices.Equal(said.Warnings, want) || len(said.Models) != 2 {
		t.Errorf("models %q, warnings %q, want %q", said.Models, said.Warnings, want)
	}
}

func TestCLI_HelpKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	for _, args := range [][]string{{"help"}, {"help", "serve"}, {"help", "token", "create"}} {
		if out := l.must(args...); !strings.Contains(out, "Usage:") {
			t.Errorf("%v:\n%s", args, out)
		}
	}
	if a, b := l.must("--version"), l.must("version"); a != b || a == "" {
		t.Errorf("--version says %q, version %q", a, b)
	}
	if a, b := l.must("--version", "--json"), l.must("version", "--json"); a != b || a == "" {
		t.Errorf("--version says %q, version %q", a, b)
	}
}

func TestCLI_WithoutAServerSaysHowToStartOne(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_URL=http://127.0.0.1:1")
	l.refused(exitUnreachable, "no server at http://127.0.0.1:1: start one with `ktrdr serve`", "ops")
	a := l.run("status", "--json")
	type failure struct {
		Error struct{ Code, Message string }
	}
	if got := decode[failure](t, a.err); a.code != exitUnreachable || got.Error.Code != "unavailable" {
		t.Errorf("status --json: %v, want an error object with code unavailable", a)
	}
}

func TestCLI_HelpNamesEverySettingAndExitCode(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	help := l.must("serve", "--help")
	for _, s := range backend.Settings() {
		if !strings.Contains(help, s.Env) || !strings.Contains(help, s.Key) || s.Flag != "" && !strings.Contains(help, "--"+s.Flag) {
			t.Errorf("serve --help does not tell all of %s, %s, --%s", s.Env, s.Key, s.Flag)
		}
	}
	if help := l.must("--help"); !strings.Contains(help, "Exit codes: 0") {
		t.Errorf("no exit codes in:\n%s", help)
	}
	if v := l.must("version"); !strings.HasPrefix(v, "ktrdr ") {
		t.Errorf("version = %q", v)
	}
}

func TestServe_RefusesToStart(t *testing.T) {
	t.Parallel()
	open := filepath.Join(t.TempDir(), "open")
	if err := os.Mkdir(open, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o777); err != nil {
		t.Fatal(err)
	}
	var lc net.ListenConfig
	taken, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	for _, tc := range []struct {
		name, says string
		code       int
		env        []string
		args       []string
	}{
		{"a negative timeout", "ORPHAN_TIMEOUT_SECONDS=-1", exitUsage, []string{"ORPHAN_TIMEOUT_SECONDS=-1"}, nil},
		{"a timeout under three heartbeats", "HEARTBEAT_INTERVAL_SECONDS", exitUsage, []string{"HEARTBEAT_INTERVAL_SECONDS=10"}, nil},
		{"an open address without TLS", "needs TLS", exitUsage, nil, []string{"--addr", "0.0.0.0:0"}},
		{
			"an open address without token", "KTRDR_AUTH=none", exitUsage,
			[]string{"KTRDR_AUTH=none"},
			[]string{"--addr", "0.0.0.0:0", "--tls-terminated-upstream"},
		},
		{"a port in use", "is in use by another program", exitFailed, nil, []string{"--addr", taken.Addr().String()}},
		{
			"a data folder that is a file", "is a file and no directory; choose another with --data", exitUsage, nil,
			[]string{"--data", "/dev/null/lab"},
		},
		{
			"a database in no directory", "database /nonexistent/lab.db: there is no directory /nonexistent: make it first", exitFailed,
			[]string{"KTRDR_DB=/nonexistent/lab.db"},
			nil,
		},
		{"a folder that others may write to", "chmod 700", exitFailed, nil, []string{"--data", open}},
		{"a configuration that is not there", "none.yaml", exitUsage, nil, []string{"--config", "none.yaml"}},
		{
			"a certificate that is not there", "there is no certificate file none.pem; name a certificate and its key with --tls-cert", exitUsage,
			nil,
			[]string{"--addr", "127.0.0.1:0", "--tls-cert", "none.pem", "--tls-key", "none.pem"},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l := newLab(t, tc.env...)
			l.refused(tc.code, tc.says, append([]string{"serve"}, tc.args...)...)
		})
	}
}

func TestServe_KeepsItsFolderToItself(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, said := l.serve("--workers", "0")
	l.refused(exitFailed, "already running here as pid", "serve", "--addr", "127.0.0.1:0")

	for name, want := range map[string]os.FileMode{
		"": 0o700, "token": 0o600, "ktrdr.db": 0o600, "blobs": 0o700, "backend-id": 0o600, "lock": 0o600,
	} {
		info, err := os.Stat(filepath.Join(l.data, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode of %q = %04o, want %04o", name, got, want)
		}
	}
	token, err := os.ReadFile(said.Token)
	if err != nil {
		t.Fatal(err)
	}
	if code := p.End(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code after SIGTERM = %d, want 0", code)
	}
	log := p.Err()
	if !strings.Contains(log, "Orphan detector started") || !strings.Contains(log, "Orphan detector stopped") {
		t.Errorf("the log does not name the orphan detector:\n%s", log)
	}
	if strings.Contains(log, strings.TrimSpace(string(token))) {
		t.Error("the log shows the token")
	}

	if err := os.Chmod(said.Token, 0o644); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, "chmod 600", "serve", "--addr", "127.0.0.1:0")
}

func TestHelp_PrintsThePagesOfTheGuide(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	list := l.must("help", "topics")
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) != len(docs.Topics) {
		t.Errorf("docs/ has %d pages, and there are %d topics", len(pages), len(docs.Topics))
	}
	for _, topic := range docs.Topics {
		page, _ := docs.Page(topic)
		if !strings.HasPrefix(page, "# ") || docs.Summary(topic) == "" {
			t.Errorf("the page of %s needs a heading and a sentence below it", topic)
		}
		if out := l.must("help", topic+".md"); out != page {
			t.Errorf("ktrdr help %s.md prints %.80q", topic, out)
		}
		if out := l.must("help", topic); !strings.HasSuffix(out, page) {
			t.Errorf("ktrdr help %s prints %.80q", topic, out)
		}
		if !strings.Contains(list, "  "+topic+" ") {
			t.Errorf("ktrdr help topics lacks %s", topic)
		}
	}
	if out := l.must("help", "research"); !strings.Contains(out, "Usage:") {
		t.Errorf("ktrdr help research lacks the help of the command:\n%s", out)
	}
}
