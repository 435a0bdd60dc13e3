// Command testrun runs `go test -json` with the arguments it is given and
// prints what a person wants of it: the ordinary closing line of each package,
// everything a failed test said, and at the end every skipped test with its
// reason, so that what a machine lacks is never mistaken for what passed. While
// nothing else is printed, a line every ten seconds says which tests run.
//
// With KTRDR_SOAK=1 it also prints what passing tests logged: counts and
// intervals are figures to be read.
//
// With KTRDR_TEST_REQUIRE=all a skipped test is a failure, unless what it wants
// is kept beside the project and cannot be installed.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"slices"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Getenv("KTRDR_TEST_REQUIRE") == "all", os.Stdout))
}

// run returns the exit code: that of go test, or 1 when a test was skipped
// although none may be.
func run(ctx context.Context, args []string, requireAll bool, out io.Writer) int {
	cmd := exec.CommandContext(ctx, "go", append([]string{"test", "-json"}, args...)...) //nolint:gosec // the Makefile's arguments
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.Stderr = os.Stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		fmt.Fprintln(out, "testrun:", err)
		return 1
	}
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(out, "testrun:", err)
		return 1
	}
	fmt.Fprintln(out, "go test: building the tests")
	r := report{out: out, said: map[test][]string{}, figures: os.Getenv("KTRDR_SOAK") == "1"}
	tick := time.NewTicker(quiet)
	defer tick.Stop()
	r.read(stdout, tick.C)
	code := 0
	if err := cmd.Wait(); err != nil {
		code = 1
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
			code = exit.ExitCode()
		}
	}
	r.summary(requireAll)
	if requireAll && slices.ContainsFunc(r.reasons, required) && code == 0 {
		code = 1
	}
	return code
}

// event is what go test -json writes; see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
	ImportPath                    string
}

type test struct{ pkg, name string }

// report collects what tests said until it is known whether it matters.
type report struct {
	out      io.Writer
	said     map[test][]string
	skipped  []test
	reasons  []string
	failures int
	figures  bool // what passing tests logged is printed too: statistics are

	tests, packages int
	running         []string // packages, in the order of their start
	printed         bool     // since the last line of progress
}

// quiet is how long nothing is printed before a line of progress.
const quiet = 10 * time.Second

// progress prints how far the tests are, if nothing else was printed lately.
func (r *report) progress(since time.Duration) {
	if !r.printed {
		now := "building the tests"
		if len(r.running) > 0 {
			now = "running " + strings.Join(r.running, ", ")
		}
		fmt.Fprintf(r.out, "    %v: packages done %d, tests done %d; %s\n", since.Round(time.Second), r.packages, r.tests, now)
	}
	r.printed = false
}

// print prints something of the tests.
func (r *report) print(text string) {
	r.printed = true
	fmt.Fprint(r.out, text)
}

// tell prints what a passing test logged.
func (r *report) tell(t test) {
	for _, line := range r.said[t] {
		if strings.Contains(line, "_test.go:") {
			fmt.Fprint(r.out, t.name, ": ", strings.TrimSpace(line), "\n")
		}
	}
}

// read reads what go test says, and prints progress at each tick.
func (r *report) read(stdout io.Reader, tick <-chan time.Time) {
	begun, said := time.Now(), make(chan string)
	go func() {
		defer close(said)
		lines := bufio.NewScanner(stdout)
		lines.Buffer(nil, 16<<20)
		for lines.Scan() {
			said <- lines.Text()
		}
	}()
	for {
		select {
		case now := <-tick:
			r.progress(now.Sub(begun))
		case line, more := <-said:
			var e event
			switch {
			case !more:
				return
			case json.Unmarshal([]byte(line), &e) != nil:
				r.print(line + "\n") // not ours: pass it on
			default:
				r.take(e)
			}
		}
	}
}

func (r *report) take(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "start":
		r.running = append(r.running, path.Base(e.Package))
	case "build-output":
		r.print(e.Output)
	case "output":
		if e.Test == "" {
			if packageLine(e.Output) {
				r.print(e.Output)
			}
			return
		}
		r.said[t] = append(r.said[t], e.Output)
	case "pass":
		r.done(e)
		if r.figures {
			r.tell(t)
		}
		delete(r.said, t)
	case "fail":
		r.done(e)
		if e.Test != "" {
			r.failures++
			r.print(strings.Join(r.said[t], ""))
		}
		delete(r.said, t)
	case "skip":
		r.done(e)
		if e.Test != "" {
			r.skipped = append(r.skipped, t)
			r.reasons = append(r.reasons, reason(r.said[t]))
		}
		delete(r.said, t)
	}
}

// done counts what has ended, whatever its result.
func (r *report) done(e event) {
	if e.Test != "" {
		r.tests++
		return
	}
	r.packages++
	if i := slices.Index(r.running, path.Base(e.Package)); i >= 0 {
		r.running = slices.Delete(r.running, i, i+1)
	}
}

// packageLine says whether a line that belongs to no test is worth showing:
// all but the closing PASS, which the ok line repeats, and packages that hold
// no test.
func packageLine(s string) bool {
	return s != "PASS\n" && !strings.Contains(s, "[no test files]")
}

// reason returns what a skipped test gave as its reason.
func reason(said []string) string {
	said = slices.DeleteFunc(slices.Clone(said), func(s string) bool {
		s = strings.TrimSpace(s)
		return strings.HasPrefix(s, "===") || strings.HasPrefix(s, "---") || s == ""
	})
	text := strings.TrimSpace(strings.Join(said, " "))
	if file, rest, ok := strings.Cut(text, ": "); ok && strings.Contains(file, ".go:") {
		text = rest
	}
	return strings.Join(strings.Fields(text), " ")
}

func (r *report) summary(requireAll bool) {
	if r.failures > 0 {
		fmt.Fprintf(r.out, "\n%d failed\n", r.failures)
	}
	if len(r.skipped) == 0 {
		return
	}
	fmt.Fprintf(r.out, "\nSKIPPED: %d tests did not run, so what they prove is not proved here:\n", len(r.skipped))
	for i, t := range r.skipped {
		fmt.Fprintf(r.out, "  %s %s: %s\n", t.pkg, t.name, r.reasons[i])
	}
	if requireAll && slices.ContainsFunc(r.reasons, required) {
		fmt.Fprintln(r.out, "KTRDR_TEST_REQUIRE=all: no test may skip. Install what is named above.")
	}
}

// beside begins the reason of a test that wants files which are kept beside
// the project and never in it. They cannot be installed, so they are named and
// not required.
const beside = "kept beside the project"

func required(reason string) bool { return !strings.HasPrefix(reason, beside) }
