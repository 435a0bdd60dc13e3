// Package langgraph holds no Go: the client is TypeScript. Its tests start the
// real server, on each database, and run the client's own tests against it.
package langgraph

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// suite is the file that runs LangGraph's own tests.
const suite = "suite.spec.ts"

// suiteTests is how many tests LangGraph's own suite has in the version that
// package-lock.json names, the optional ones included.
const suiteTests = 726

func TestMain(m *testing.M) {
	missing = install()
	os.Exit(labtest.Main(m, ""))
}

func TestClient_PassesTheTypeChecks(t *testing.T) {
	needsNode(t)
	if a := labtest.Run(t, node(nil, "node_modules/typescript/bin/tsc")); a.Code != 0 {
		t.Errorf("exit %d\n%s%s", a.Code, a.Out, a.Err)
	}
}

func TestClient_PassesLangGraphsOwnSuite(t *testing.T) {
	onBoth(t, func(t *testing.T, s *server) {
		got := s.vitest(filepath.Join("test", suite))
		if want := (results{Total: suiteTests, Passed: suiteTests, Success: true}); got.results != want {
			t.Errorf("LangGraph's suite: %+v, want %+v\n%s", got.results, want, got.failures())
		}
	})
}

func TestClient_PassesItsOwnTests(t *testing.T) {
	files, err := filepath.Glob("test/*.spec.ts")
	if err != nil {
		t.Fatal(err)
	}
	files = slices.DeleteFunc(files, func(file string) bool { return filepath.Base(file) == suite })
	onBoth(t, func(t *testing.T, s *server) {
		got := s.vitest(files...)
		if len(got.Files) != len(files) || got.Total == 0 || got.Passed != got.Total || !got.Success {
			t.Errorf("%d of %d files: %+v, want every test passed\n%s", len(got.Files), len(files), got.results, got.failures())
		}
	})
}

// onBoth runs a test against a server of its own on each database, side by side.
func onBoth(t *testing.T, test func(t *testing.T, s *server)) {
	needsNode(t)
	t.Run("SQLite", func(t *testing.T) {
		t.Parallel()
		test(t, start(t))
	})
	t.Run("PostgreSQL", func(t *testing.T) {
		t.Parallel()
		test(t, start(t, "KTRDR_DB="+pgtest.URL(t)))
	})
}

// installed is a copy of the lock file that npm has installed. It is written
// last, so an install that was interrupted is done again.
const installed = "node_modules/.installed-lock.json"

// missing says why the client's tests cannot run; nil if they can.
var missing error

// install installs the client's packages when the lock file has changed since
// the last time. npm ci refuses the lock file, because npm leaves the optional
// packages of other platforms out of it; npm install takes the same versions.
func install() error {
	version, err := exec.Command("node", "--version").Output() //nolint:noctx // go test's own timeout ends it
	if err != nil {
		return errors.New("node is not installed: install node 20 or newer")
	}
	var major int
	if _, err := fmt.Sscanf(string(version), "v%d.", &major); err != nil || major < 20 {
		return fmt.Errorf("node %s is too old: install node 20 or newer", bytes.TrimSpace(version))
	}
	lock, err := os.ReadFile("package-lock.json")
	if err != nil {
		return err
	}
	if have, err := os.ReadFile(installed); err == nil && bytes.Equal(have, lock) {
		return nil
	}
	fmt.Fprintln(os.Stderr, "clients/langgraph: installing npm packages, once per lock file (about 130 MB, 10 seconds)")
	npm := exec.Command("npm", "install", "--no-save", "--no-audit", "--no-fund") //nolint:noctx // as above
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("npm could not install the packages: %w: %s", err, bytes.TrimSpace(out))
	}
	return os.WriteFile(installed, lock, 0o600)
}

// needsNode skips where the client cannot run, and fails there under
// KTRDR_TEST_REQUIRE=all.
func needsNode(t *testing.T) {
	t.Helper()
	switch {
	case missing == nil:
	case os.Getenv(pgtest.Require) == "all":
		t.Fatal(missing)
	default:
		fmt.Fprintf(os.Stderr, "SKIP %s: %v\n", t.Name(), missing)
		t.Skip(missing)
	}
}

// node is a call of one of the client's tools. It is started without npm, which
// would leave it behind when the test is stopped.
func node(env []string, args ...string) labtest.Program {
	return labtest.Program{Path: "node", Args: args, Env: append(os.Environ(), env...)}
}

// results is vitest's count.
type results struct {
	Total   int  `json:"numTotalTests"`
	Passed  int  `json:"numPassedTests"`
	Failed  int  `json:"numFailedTests"`
	Pending int  `json:"numPendingTests"` // skipped
	Todo    int  `json:"numTodoTests"`
	Success bool `json:"success"`
}

// report is what vitest writes with --reporter=json.
type report struct {
	results
	Files []struct {
		Name    string `json:"name"`
		Message string `json:"message"`
		Tests   []struct {
			Name     string   `json:"fullName"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// failures names the first tests that did not pass.
func (r report) failures() string {
	var said []string
	for _, file := range r.Files {
		if file.Message != "" {
			said = append(said, file.Name+": "+file.Message)
		}
		for _, test := range file.Tests {
			if test.Status != "passed" {
				said = append(said, fmt.Sprintf("%s: %s\n%s", test.Status, test.Name, strings.Join(test.Messages, "\n")))
			}
		}
	}
	return strings.Join(said[:min(len(said), 10)], "\n")
}

// server is a real backend that the client's tests may kill.
type server struct {
	t    *testing.T
	env  []string
	data string
	addr string

	backend *labtest.Process
}

func start(t *testing.T, env ...string) *server {
	t.Helper()
	s := &server{t: t, data: filepath.Join(t.TempDir(), "data"), addr: labtest.Address(t)}
	s.env = labtest.Environment(t, s.data, labtest.Times{}, env...)
	s.begin()
	return s
}

// begin starts the backend and waits until it says that it is ready.
func (s *server) begin() {
	s.t.Helper()
	args := []string{"serve", "--json", "--workers", "0", "--addr", s.addr}
	s.backend = labtest.Start(s.t, labtest.Program{Args: args, Env: s.env})
	s.backend.Ready(&struct{}{})
}

// vitest runs some of the client's tests against the server. While they run
// they may ask for it to be killed and started again.
func (s *server) vitest(files ...string) report {
	s.t.Helper()
	kills := make(chan chan struct{})
	control := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		restarted := make(chan struct{})
		select {
		case kills <- restarted:
			<-restarted
		case <-r.Context().Done():
		}
	}))
	defer control.Close()
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "report.json")
	env := []string{"KTRDR_URL=http://" + s.addr, "KTRDR_TOKEN=" + strings.TrimSpace(string(token)), "KTRDR_CONTROL=" + control.URL}
	tests := labtest.Start(s.t, node(env, append([]string{
		"node_modules/vitest/vitest.mjs", "run", "--no-file-parallelism", "--no-isolate", "--reporter=json",
		"--outputFile=" + file, // not isolated: LangGraph is loaded once for all files
	}, files...)...))
	labtest.Eventually(s.t, 10*time.Minute, "the end of vitest", func() bool {
		select {
		case restarted := <-kills:
			defer close(restarted)
			s.backend.Kill()
			s.begin()
		default:
		}
		return !tests.Alive()
	})
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatalf("vitest wrote no report: %v\n%s", err, tests.Log())
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}
