package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// argument is one of a usage line: NAME, [NAME], FILE…, open|closed|auto.
var argument = regexp.MustCompile(`^\[?[A-Za-z|]+…?\]?$`)

// arguments reads a usage line: how many arguments a command needs and how many it
// takes, -1 where there is no limit.
func arguments(use string) (least, most int) {
	use, _, _ = strings.Cut(use, " --")
	if _, other, ok := strings.Cut(use, " | "); ok { // SYMBOL TIMEFRAME | FILE
		use, _, _ = strings.Cut(use, " | ")
		least, most = arguments(use)
		return min(least, len(strings.Fields(other))), most
	}
	for _, word := range strings.Fields(use)[1:] {
		if !argument.MatchString(word) {
			continue
		}
		if !strings.HasPrefix(word, "[") {
			least++
		}
		if most++; strings.Contains(word, "…") {
			return least, -1
		}
	}
	return least, most
}

// TestUsage_EveryCommandRefusesWhatItDoesNotTake gives every command a flag that it
// does not have, one argument too few, and one too many.
func TestUsage_EveryCommandRefusesWhatItDoesNotTake(t *testing.T) {
	all := commands()
	if len(all) < 60 {
		t.Fatalf("%d commands were found: the walk misses some", len(all))
	}
	data := t.TempDir()
	for path, cmd := range all {
		least, most := arguments(cmd.Use)
		given := func(n int) []string {
			args := strings.Fields(path)
			for range n {
				args = append(args, "1h") // an argument of any kind
			}
			return args
		}
		cases := map[string][]string{"an unknown flag": append(given(least), "--nosuchflag")}
		if least > 0 {
			cases["an argument too few"] = given(least - 1)
		}
		if most >= 0 {
			cases["an argument too many"] = given(most + 1)
		}
		for name, args := range cases {
			t.Run(path+"/"+name, func(t *testing.T) {
				code, said := called(t, data, args...)
				if code != exitUsage || !strings.Contains(said, path) {
					t.Errorf("`ktrdr %s`: exit code %d, %s; want %d and the command's name", strings.Join(args, " "), code, said, exitUsage)
				}
			})
		}
	}
}

// TestUsage_EveryFlagHasAtMostOneDefault reads the help of every flag.
func TestUsage_EveryFlagHasAtMostOneDefault(t *testing.T) {
	for path, cmd := range commands() {
		for line := range strings.Lines(cmd.Flags().FlagUsages()) {
			if strings.Count(line, "(default") > 1 {
				t.Errorf("`ktrdr %s --help` prints two defaults: %s", path, strings.TrimSpace(line))
			}
		}
	}
}

// commands are all commands that a user can run, by their path without "ktrdr".
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(cmd *cobra.Command)
	add = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				all[strings.TrimPrefix(sub.CommandPath(), "ktrdr ")] = sub
				add(sub)
			}
		}
	}
	add(newRoot(&app{getenv: os.Getenv}))
	return all
}

// called runs a command in this process, on a data folder and without a server,
// and returns its exit code and all that it printed.
func called(t *testing.T, data string, args ...string) (code int, said string) {
	t.Helper()
	var out bytes.Buffer
	a := &app{out: &out, err: &out, getenv: func(key string) string {
		return map[string]string{"KTRDR_DATA": data, "KTRDR_AUTH": "none", "KTRDR_URL": "http://127.0.0.1:1", "HOME": data}[key]
	}}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(t.Context())
	if err != nil {
		a.complain(err)
	}
	return exitCode(err), out.String()
}
