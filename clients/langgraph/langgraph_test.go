// Package langgraph holds no Go: the client is TypeScript. Its tests start the
// real server, on each database, and run the client's own tests against it.
package langgraph

import (
	"bytes"
	"context"
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
	"sync"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// suite is the file that runs LangGraph's own tests.
const suite = "suite.spec.ts"

// suiteTests is how many tests LangGraph's own suite has in the version that
// package-lock.json names, the optional ones included.
const suiteTests = 726

// binary is the product, built once.
var binary string

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "ktrdr-langgraph")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "ktrdr")
	build := exec.Command("go", "build", "-o", binary, "../../cmd/ktrdr") //nolint:noctx // go test's own timeout ends it
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build ktrdr: %v\n%s", err, out)
		return 1
	}
	missing = install()
	return pgtest.Main(m)
}

func TestClient_PassesTheTypeChecks(t *testing.T) {
	needsNode(t)
	if out, err := node(t, nil, "node_modules/typescript/bin/tsc"); err != nil {
		t.Errorf("%v\n%s", err, out)
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

// onBoth runs a test against a server of its own on each database.
func onBoth(t *testing.T, test func(t *testing.T, s *server)) {
	needsNode(t)
	t.Run("SQLite", func(t *testing.T) { test(t, start(t)) })
	t.Run("PostgreSQL", func(t *testing.T) { test(t, start(t, "KTRDR_DB="+pgtest.URL(t))) })
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

// node runs one of the client's tools to its end. It is started without npm,
// which would leave it behind when the test is stopped.
func node(t *testing.T, env []string, args ...string) ([]byte, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "node", args...) //nolint:gosec // the tests' own words
	cmd.Env = append(os.Environ(), env...)
	return cmd.CombinedOutput()
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

// failures tells of the first tests that did not pass.
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

	mu   sync.Mutex
	cmd  *exec.Cmd
	said *bytes.Buffer
}

func start(t *testing.T, env ...string) *server {
	t.Helper()
	s := &server{t: t, data: filepath.Join(t.TempDir(), "data"), addr: "127.0.0.1:0"}
	s.env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	if err := s.begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end()
		if t.Failed() {
			t.Logf("serve said:\n%s", s.said)
		}
	})
	return s
}

// begin starts the backend and waits until it says that it is ready. The next
// one has the same address.
func (s *server) begin(ctx context.Context) error {
	args := []string{"serve", "--json", "--workers", "0", "--addr", s.addr, "--data", s.data}
	cmd := exec.CommandContext(ctx, binary, args...) //nolint:gosec // the product
	said := &bytes.Buffer{}
	cmd.Env, cmd.Stderr = s.env, said
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	s.cmd, s.said = cmd, said
	var ready struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(stdout).Decode(&ready); err != nil {
		s.end()
		return fmt.Errorf("serve did not start: %w\n%s", err, said)
	}
	s.addr = strings.TrimPrefix(ready.URL, "http://")
	return nil
}

// end kills the backend and waits for it.
func (s *server) end() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// vitest runs some of the client's tests against the server. While they run
// they may ask for it to be killed and started again.
func (s *server) vitest(files ...string) report {
	s.t.Helper()
	control := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.end()
		if err := s.begin(s.t.Context()); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		}
	}))
	defer control.Close()
	token, err := os.ReadFile(filepath.Join(s.data, "token"))
	if err != nil {
		s.t.Fatal(err)
	}
	file := filepath.Join(s.t.TempDir(), "report.json")
	env := []string{"KTRDR_URL=http://" + s.addr, "KTRDR_TOKEN=" + strings.TrimSpace(string(token)), "KTRDR_CONTROL=" + control.URL}
	args := append([]string{
		"node_modules/vitest/vitest.mjs", "run", "--no-file-parallelism", "--reporter=json",
		"--outputFile=" + file,
	}, files...)
	out, runErr := node(s.t, env, args...)
	text, err := os.ReadFile(file)
	if err != nil {
		s.t.Fatalf("vitest wrote no report: %v, %v\n%s", runErr, err, out)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		s.t.Fatal(err)
	}
	return r
}
