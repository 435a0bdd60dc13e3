package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/ktrdr/ktrdr/strategy"
)

// filesRead are the places where a user names a file to be read: the arguments of a
// call, with @ for the file.
var filesRead = map[string]string{
	"backtest MODEL": "backtest @.safetensors", "predict MODEL": "predict @.safetensors",
	"check lookahead STRATEGY": "check lookahead @.yaml", "check lookahead --model": "check lookahead " +
		strategy.Examples()[0].Name + " --model @",
	"train STRATEGY": "train @.yaml", "research --strategy": "research --strategy @.yaml", "strategies show NAME": "strategies show @.yaml",
	"strategies add FILE": "strategies add @", "validate FILE…": "validate @",
	"data check SYMBOL TIMEFRAME | FILE": "data check @.csv", "data import FILE|FOLDER…": "data import @_1h.csv --symbol EURUSD",
	"instruments set FILE": "instruments set @",
	"claim verify FILE":    "claim verify @",
	"restore FILE":         "restore @", "worker --token-file": "worker --token-file @",
	"serve --tls-cert": "serve --addr 127.0.0.1:0 --tls-cert @ --tls-key key.pem",
	"serve --tls-key":  "serve --addr 127.0.0.1:0 --tls-cert @ --tls-key @",
	"--ca":             "ops --ca @", "--config": "serve --config @",
}

// filesWritten are the places where a user names a file to be written.
var filesWritten = map[string]string{
	"backup FILE": "backup @/below", "claim export OPERATION FILE": "claim export op_1 @/below",
	"data export --csv": "data export EURUSD 1h --csv @/below", "models save TRAINING FILE": "",
	"report --html": "report --html @/below", "results --html": "results op_1 --html @/below",
}

// TestFiles_OfUsersAreRefusedInOurWords names a file that is not there, a directory,
// and a file that may not be read, wherever a file can be named.
func TestFiles_OfUsersAreRefusedInOurWords(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data")
	synth := []string{"data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "2000", "--seed", "7"}
	if code, said := called(t, data, synth...); code != exitOK {
		t.Fatal(said)
	}
	inAll := []string{"--ca", "--config"}
	place := regexp.MustCompile(`FILE|STRATEGY|MODEL`)
	for path, cmd := range commands() {
		known := func(where string) {
			if filesRead[where] == "" && filesWritten[where] == "" && where != "models save TRAINING FILE" {
				t.Errorf("%q takes a file and is not in the table of this test", where)
			}
		}
		if _, args, _ := strings.Cut(cmd.Use, " "); place.MatchString(args) {
			known(path + " " + args)
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			name, _ := pflag.UnquoteUsage(f)
			if name == "FILE" && !slices.Contains(inAll, "--"+f.Name) {
				known(path + " --" + f.Name)
			}
		})
	}

	dir := t.TempDir()
	ours := func(t *testing.T, call, at string, says ...string) {
		t.Helper()
		code, text := called(t, data, strings.Fields(strings.ReplaceAll(call, "@", at))...)
		said := false
		for _, s := range says {
			said = said || strings.Contains(text, s)
		}
		for _, theirs := range []string{"no such file", "open ", "stat ", "read ", "is a directory\n", "permission denied", "mkdir:"} {
			said = said && !strings.Contains(text, theirs)
		}
		if !said || code != exitUsage || !strings.Contains(text, at) {
			t.Errorf("`%s`: exit code %d, want %d and %q with the file's name:\n%s", call, code, exitUsage, says, text)
		}
	}
	for where, call := range filesRead {
		t.Run(where, func(t *testing.T) {
			ours(t, call, filepath.Join(dir, "none"), "there is no ")
			ours(t, call, filepath.Join(dir, "none", "below"), "there is no ")
			made := regexp.MustCompile(`@\S*`).FindString(call)
			if err := os.MkdirAll(strings.ReplaceAll(made, "@", filepath.Join(dir, "folder")), 0o700); err != nil {
				t.Fatal(err)
			}
			ours(t, call, filepath.Join(dir, "folder"), "is a directory and no ", "can be read by other users")
		})
	}
	for where, call := range filesWritten {
		if call == "" {
			continue // it writes as the others do, once a model was trained
		}
		t.Run(where, func(t *testing.T) {
			ours(t, call, filepath.Join(dir, "none"), "make it with `mkdir -p")
			ours(t, strings.ReplaceAll(call, "/below", " --force"), filepath.Join(dir, "folder"), "is a directory; name a file in it")
		})
	}
}
