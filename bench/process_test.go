package bench_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/labtest"
)

// installation is a data folder and the processes on it, at the product's
// default times.
type installation struct {
	b         *testing.B
	dir       string
	env       []string
	addr      string
	backend   *labtest.Process
	client    *client.Client
	processes []*labtest.Process
}

// install makes a data folder.
func install(b *testing.B) *installation {
	b.Helper()
	in := &installation{b: b, dir: b.TempDir(), addr: labtest.Address(b)}
	in.env = labtest.Environment(b, filepath.Join(in.dir, "data"), labtest.Times{}, "KTRDR_AUTH=none", "KTRDR_URL=http://"+in.addr)
	return in
}

// run runs a command to its end.
func (in *installation) run(args ...string) {
	in.b.Helper()
	if a := labtest.Run(in.b, labtest.Program{Args: args, Env: in.env}); a.Code != 0 {
		in.b.Fatalf("ktrdr %s: exit %d\n%s%s", strings.Join(args, " "), a.Code, a.Out, a.Err)
	}
}

// begin starts a process that lives until stop.
func (in *installation) begin(args ...string) *labtest.Process {
	in.b.Helper()
	p := labtest.Start(in.b, labtest.Program{Args: args, Env: in.env})
	in.processes = append(in.processes, p)
	return p
}

// serve starts the backend and waits until it is healthy.
func (in *installation) serve(args ...string) {
	in.b.Helper()
	in.backend = in.begin(append([]string{"serve", "--addr", in.addr}, args...)...)
	var err error
	if in.client, err = client.New("http://"+in.addr, "", client.Options{}); err != nil {
		in.b.Fatal(err)
	}
	in.b.Cleanup(in.client.Close)
	labtest.Eventually(in.b, time.Minute, "the backend's health", func() bool {
		_, err := in.client.Health(in.b.Context())
		return err == nil
	})
}

// get asks the backend and throws the answer away.
func (in *installation) get(path string) {
	in.b.Helper()
	if err := in.tryGet(path); err != nil {
		in.b.Fatal(err)
	}
}

func (in *installation) tryGet(path string) error {
	req, err := http.NewRequestWithContext(in.b.Context(), http.MethodGet, "http://"+in.addr+path, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s %v", path, res.Status, err) //nolint:errorlint // it is nil where the status is wrong
	}
	return nil
}

// stop kills all processes.
func (in *installation) stop() { labtest.PowerCut(in.processes...) }

// memory returns the backend's anonymous memory in kB.
func (in *installation) memory() int {
	in.b.Helper()
	f, err := os.Open(fmt.Sprintf("/proc/%d/smaps_rollup", in.backend.PID()))
	if err != nil {
		in.b.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for s := bufio.NewScanner(f); s.Scan(); {
		if rest, ok := strings.CutPrefix(s.Text(), "Anonymous:"); ok {
			var kb int
			if _, err := fmt.Sscan(rest, &kb); err != nil {
				in.b.Fatal(err)
			}
			return kb
		}
	}
	in.b.Fatal("no Anonymous line in smaps_rollup")
	return 0
}
