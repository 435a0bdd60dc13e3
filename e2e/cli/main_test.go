// Package cli calls the built program as a person or a script does: real
// processes, exit codes, and what is printed as text and as JSON.
package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/labtest"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

// lab is a data folder and the environment of the processes that use it.
type lab struct {
	t    *testing.T
	data string
	env  []string
	url  string

	program string // that starts the binary; empty means the binary itself
}

// newLab makes a lab in which no worker is declared dead because the machine is
// busy.
func newLab(t *testing.T, env ...string) *lab {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data")
	times := labtest.Times{Timeout: 20 * time.Second, Interval: 500 * time.Millisecond, Heartbeat: 250 * time.Millisecond}
	return &lab{t: t, data: data, env: labtest.Environment(t, data, times, env...)}
}

// answer is what a finished command said.
type answer struct {
	out, err string
	code     int
}

func (a answer) String() string { return fmt.Sprintf("exit %d\n%s%s", a.code, a.out, a.err) }

// call is a call of the product with the lab's environment.
func (l *lab) call(args ...string) labtest.Program {
	env := slices.Clone(l.env)
	if l.url != "" {
		env = append(env, "KTRDR_URL="+l.url)
	}
	return labtest.Program{Path: l.program, Args: args, Env: env}
}

// run runs a command to its end.
func (l *lab) run(args ...string) answer {
	l.t.Helper()
	return l.feed(nil, args...)
}

// feed runs a command with a text on its standard input, which is a pipe.
func (l *lab) feed(stdin []byte, args ...string) answer {
	l.t.Helper()
	c := l.call(args...)
	if stdin != nil {
		c.Stdin = bytes.NewReader(stdin)
	}
	a := labtest.Run(l.t, c)
	return answer{a.Out, a.Err, a.Code}
}

// must runs a command that has to succeed and returns what it printed.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	a := l.run(args...)
	if a.code != 0 {
		l.t.Fatalf("ktrdr %s: %v", strings.Join(args, " "), a)
	}
	return a.out
}

// refused runs a command that has to fail with a code and a sentence.
func (l *lab) refused(code int, says string, args ...string) {
	l.t.Helper()
	a := l.run(args...)
	if a.code != code || !strings.Contains(a.err+a.out, says) {
		l.t.Errorf("ktrdr %s: %v\nwant exit %d and %q", strings.Join(args, " "), a, code, says)
	}
}

// begin starts a command and waits for the JSON it prints when it is ready.
func (l *lab) begin(ready any, args ...string) *labtest.Process {
	l.t.Helper()
	p := labtest.Start(l.t, l.call(append(args, "--json")...))
	p.Ready(ready)
	return p
}

// serve starts a backend on a free port and makes it the lab's server.
func (l *lab) serve(args ...string) (*labtest.Process, backend.Announcement) {
	l.t.Helper()
	var said backend.Announcement
	p := l.begin(&said, append([]string{"serve", "--addr", "127.0.0.1:0"}, args...)...)
	l.url = said.URL
	return p, said
}

// worker starts a worker process.
func (l *lab) worker(args ...string) *labtest.Process {
	l.t.Helper()
	var said workerSaid
	return l.begin(&said, append([]string{"worker", "--data", filepath.Join(l.t.TempDir(), "worker")}, args...)...)
}

// decode reads JSON that a command printed.
func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %q", err, text)
	}
	return v
}
