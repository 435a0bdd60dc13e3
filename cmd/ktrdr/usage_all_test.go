package main

import (
	"bytes"
	"regexp"
	"strings"
	"testing"
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
				var out bytes.Buffer
				a := &app{out: &out, err: &out, getenv: func(key string) string {
					return map[string]string{"KTRDR_DATA": data, "KTRDR_URL": "http://127.0.0.1:1", "HOME": data}[key]
				}}
				root := newRoot(a)
				root.SetArgs(args)
				err := root.ExecuteContext(t.Context())
				if exitCode(err) != exitUsage || err == nil || !strings.Contains(err.Error(), path) {
					t.Errorf("`ktrdr %s`: exit code %d, %v; want %d and the command's name", strings.Join(args, " "), exitCode(err), err, exitUsage)
				}
			})
		}
	}
}
