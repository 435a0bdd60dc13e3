package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
)

// start starts a dummy operation and returns its id.
func (l *lab) start(args ...string) string {
	l.t.Helper()
	out := l.must(append([]string{"dummy", "--json"}, args...)...)
	return string(decode[api.Started](l.t, out).Operation)
}

// op returns an operation as `status --json` shows it.
func (l *lab) op(id string) ktrdr.Operation {
	l.t.Helper()
	return decode[ktrdr.Operation](l.t, l.must("status", id, "--json"))
}

// ops are the operations that `ops` lists, each whole.
func (l *lab) ops(args ...string) (list []ktrdr.Operation) {
	l.t.Helper()
	for _, row := range decode[[]api.OperationRow](l.t, l.must(append([]string{"ops", "--json"}, args...)...)) {
		list = append(list, l.op(string(row.ID)))
	}
	return list
}

// until polls an operation; what is waited for happens in other processes.
func (l *lab) until(id string, what string, ok func(ktrdr.Operation) bool) ktrdr.Operation {
	l.t.Helper()
	var op ktrdr.Operation
	labtest.Eventually(l.t, 30*time.Second, id+" to be "+what, func() bool {
		op = l.op(id)
		return ok(op)
	})
	return op
}

func TestCLI_FollowsAnOperationToItsResult(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "2")

	a := l.run("dummy", "--steps", "20", "--step-ms", "10", "--checkpoint-every", "5", "--seed", "7", "--follow")
	want := dummy.Expected(dummy.Spec{Steps: 20, Seed: 7})
	if a.code != exitOK || !strings.Contains(a.out, "COMPLETED") || !strings.Contains(a.out, want) {
		t.Errorf("followed to completion: %v\nwant exit 0 and hash %s", a, want)
	}
	for _, kind := range []string{"created", "claimed by", "checkpoint periodic at step 5", "completed"} {
		if !strings.Contains(a.out, kind) {
			t.Errorf("the story does not tell %q:\n%s", kind, a.out)
		}
	}
	l.refused(exitFailed, "step 3 fails", "dummy", "--steps", "5", "--step-ms", "1", "--fail-at", "3", "-f")
	l.refused(exitFailed, "panic", "dummy", "--steps", "5", "--step-ms", "1", "--panic-at", "3", "-f")

	a = l.run("dummy", "--steps", "5", "--step-ms", "1", "--children", "3", "--parallel", "-f", "--json")
	lines := strings.Split(strings.TrimSpace(a.out), "\n")
	last := decode[ktrdr.Operation](t, lines[len(lines)-1])
	if a.code != exitOK || last.Status != ktrdr.Completed || !last.HasPlan {
		t.Errorf("a parent followed as JSON: %v", a)
	}
	children := l.ops("--parent", string(last.ID))
	if len(children) != 3 {
		t.Errorf("%d children, want 3", len(children))
	}
}

func TestCLI_CancelsResumesAndRetries(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "100", "--step-ms", "20", "--checkpoint-every", "2")
	l.until(id, "checkpointed", func(op ktrdr.Operation) bool { return op.Checkpoint != nil })

	l.must("cancel", id, "--reason", "enough", "--follow")
	if op := l.op(id); op.Status != ktrdr.Cancelled || op.CancelReason != "enough" {
		t.Errorf("after cancel: %s %q", op.Status, op.CancelReason)
	}
	l.refused(exitCancelled, "CANCELLED", "follow", id)
	l.refused(exitFailed, "cannot cancel", "cancel", id)

	resumed := l.run("resume", id, "--follow")
	if want := dummy.Expected(dummy.Spec{Steps: 100}); resumed.code != exitOK || !strings.Contains(resumed.out, want) {
		t.Errorf("resumed: %v\nwant exit 0 and hash %s", resumed, want)
	}
	if op := l.op(id); op.Epoch != 2 {
		t.Errorf("epoch after resume = %d, want 2", op.Epoch)
	}
	l.refused(exitFailed, "", "resume", id)

	again := decode[api.Started](t, l.must("retry", id, "--json", "--key", "once"))
	same := decode[api.Started](t, l.must("retry", id, "--json", "--key", "once"))
	if string(again.Operation) == id || again.RetryOf != ktrdr.OperationID(id) || same.Operation != again.Operation {
		t.Errorf("retry = %+v, again under its key = %+v", again, same)
	}
}

func TestCLI_TakesShortIDs(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	a, b := l.start("--steps", "1"), l.start("--steps", "1")
	tail := a[strings.LastIndexByte(a, '_')+1:]
	if out := l.must("status", tail[:6]); !strings.Contains(out, a) {
		t.Errorf("status by tail: %s", out)
	}
	l.refused(exitUsage, "means 2 operations", "status", "op_dummy_")
	l.refused(exitUsage, "no operation begins with", "status", "op_training_")
	for _, command := range []string{"status", "results", "cancel", "follow", "events", "resume", "retry", "pin"} {
		l.refused(exitUsage, "op_dummy_20200101_000000_00000000", command, "op_dummy_20200101_000000_00000000")
		l.refused(exitUsage, "no operation begins with", command, "nowhere")
	}
	for _, args := range [][]string{
		{"status", "run_nowhere"}, {"cancel", "run_nowhere"}, {"follow", "run_nowhere"}, {"leaderboard", "--run", "run_nowhere"},
	} {
		l.refused(exitUsage, `there is no run "run_nowhere"`, args...)
	}

	offers := l.must("__complete", "follow", "op_du")
	for _, id := range []string{a, b} {
		if !strings.Contains(offers, id+"\tPENDING") {
			t.Errorf("completion does not offer %s:\n%s", id, offers)
		}
	}
	if out := l.must("completion", "bash"); !strings.Contains(out, "__complete") {
		t.Error("the bash script does not ask for completions")
	}
	if out := l.must("ops", "--status", "pending", "--limit", "1"); !strings.Contains(out, "There are more") {
		t.Errorf("a cut list does not say so:\n%s", out)
	}
}

func TestCLI_PausesAndListsWorkers(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0", "--agents", "0")
	w := l.worker("--slots", "2", "--name", "box")
	l.must("pause")
	id := l.start("--steps", "3", "--step-ms", "1")
	if out := l.must("status"); !strings.Contains(out, "paused") {
		t.Errorf("status does not say that it is paused:\n%s", out)
	}
	l.must("unpause")
	l.must("follow", id)

	workers := decode[[]ktrdr.Worker](t, l.must("workers", "--json"))
	if len(workers) != 1 || workers[0].Name != "box" || workers[0].Slots != 2 || !workers[0].Live {
		t.Errorf("workers = %+v", workers)
	}
	if code := w.End(syscall.SIGTERM); code != 0 {
		t.Errorf("worker's exit code after SIGTERM = %d, want 0", code)
	}
	if out := l.must("workers"); !strings.Contains(out, "No live workers") {
		t.Errorf("after its stop the worker is still listed:\n%s", out)
	}
}

func TestCLI_WorkerStoppedGracefullyGivesItsWorkBack(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	w := l.worker()
	id := l.start("--steps", "60", "--step-ms", "30", "--checkpoint-every", "100")
	l.until(id, "running", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Running && op.MaxStep > 2 })
	if code := w.End(syscall.SIGTERM); code != 0 {
		t.Fatalf("exit code = %d, want 0", code)
	}
	op := l.op(id)
	if op.Status != ktrdr.Pending || op.Checkpoint == nil || op.Checkpoint.Type != ktrdr.CheckpointShutdown {
		t.Fatalf("after a graceful stop it is %s with checkpoint %+v", op.Status, op.Checkpoint)
	}
	l.worker()
	if out := l.must("follow", id); !strings.Contains(out, dummy.Expected(dummy.Spec{Steps: 60})) {
		t.Errorf("resumed elsewhere:\n%s", out)
	}
}

func TestCLI_ShowsCheckpoints(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "10", "--step-ms", "1", "--checkpoint-every", "3", "--artifact-bytes", "70000", "--fail-at", "10")
	l.refused(exitFailed, "FAILED", "follow", id)

	k := decode[ktrdr.Checkpoint](t, l.must("checkpoints", "show", id, "--json"))
	if k.Type != ktrdr.CheckpointFailure || k.Step != 9 || len(k.Artifacts) != 1 {
		t.Errorf("newest checkpoint = %+v", k)
	}
	history := decode[[]ktrdr.CheckpointInfo](t, l.must("checkpoints", "show", id, "--history", "--json"))
	if len(history) != 4 {
		t.Errorf("%d checkpoints, want 4 (steps 3, 6, 9 and the failure)", len(history))
	}
	for _, args := range [][]string{{"list"}, {"show", id}, {"show", id, "--history"}, {"stats"}, {"cleanup"}} {
		l.must(append([]string{"checkpoints"}, args...)...)
	}
	l.must("checkpoints", "delete", id)
	l.refused(exitFailed, "", "resume", id)
}

func TestCLI_TokensOpenWhatTheirScopeAllows(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	made := decode[api.NewTokenReply](t, l.must("token", "create", "reader", "--scope", "read", "--json"))
	stranger := *l
	stranger.env = append([]string{"KTRDR_TOKEN=" + made.Secret}, l.env...)
	stranger.must("ops")
	stranger.refused(exitFailed, "", "pause")

	unknown := *l
	unknown.env = append([]string{"KTRDR_TOKEN=ktrdr_" + strings.Repeat("A", 43)}, l.env...)
	unknown.refused(exitFailed, "does not accept the token of KTRDR_TOKEN", "ops")

	l.must("token", "revoke", made.ID)
	labtest.Eventually(t, 15*time.Second, "the refusal of a revoked token", func() bool { return stranger.run("ops").code != exitOK })
	if out := l.must("token", "list"); strings.Contains(out, made.Secret) || !strings.Contains(out, made.ID) {
		t.Errorf("token list:\n%s", out)
	}
}

func TestCLI_EventsTellAnOperationsStory(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "2", "--step-ms", "1")
	l.must("follow", id)
	var kinds []string
	for line := range strings.Lines(l.must("events", id, "--json")) {
		kinds = append(kinds, string(decode[ktrdr.Event](t, line).Kind))
	}
	if got, want := strings.Join(kinds, " "), "created claimed completed"; got != want {
		t.Errorf("events = %q, want %q", got, want)
	}
}

// curl is what the seeds' scripts do: no token, no content type without a
// body, and jq's path into the answer.
func (l *lab) curl(method, path string) map[string]json.RawMessage {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.url+path, nil)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	var answer map[string]json.RawMessage
	if err := json.NewDecoder(res.Body).Decode(&answer); err != nil {
		l.t.Fatalf("%s %s: %d: %v", method, path, res.StatusCode, err)
	}
	return answer
}

func TestServe_WithoutAuthTheSeedsCurlLinesWork(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_AUTH=none")
	_, said := l.serve("--workers", "1")
	if said.Token != "" || len(said.Warnings) == 0 {
		t.Errorf("backend.Announcement = %+v, want no token and a warning", said)
	}
	if _, err := os.Stat(filepath.Join(l.data, backend.TokenFile)); !os.IsNotExist(err) {
		t.Errorf("a token file although none is wanted: %v", err)
	}
	id := l.start("--steps", "6", "--step-ms", "1", "--checkpoint-every", "2", "--fail-at", "5")
	l.until(id, "failed", func(op ktrdr.Operation) bool { return op.Status == ktrdr.Failed })

	op := decode[ktrdr.Operation](t, string(l.curl(http.MethodGet, "/api/v1/operations/"+id)["data"]))
	if op.Status != ktrdr.Failed || op.ErrorMessage == "" {
		t.Errorf(".data.status = %s, .data.error_message = %q", op.Status, op.ErrorMessage)
	}
	for _, ask := range []struct{ method, path string }{
		{http.MethodGet, "/api/v1/checkpoints/" + id},
		{http.MethodPost, "/api/v1/operations/" + id + "/resume"},
	} {
		if got := string(l.curl(ask.method, ask.path)["success"]); got != "true" {
			t.Errorf("%s %s: .success = %s, want true", ask.method, ask.path, got)
		}
	}
	if got := l.curl(http.MethodGet, "/api/v1/health")["orphan_detector"]; !strings.Contains(string(got), `"running":true`) {
		t.Errorf(".orphan_detector = %s, want it running", got)
	}
}

func TestServe_ReadsItsConfigurationFile(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	file := filepath.Join(t.TempDir(), "ktrdr.yaml")
	text := "workers: 0\nagents: 0\norphan_timeout_seconds: 7.5\ncheckpointing:\n  backend: sqlite\n  path: threads.db\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l.env = append(l.env, "ORPHAN_TIMEOUT_SECONDS=") // empty: the file's counts
	l.serve("--config", file)
	health := decode[ktrdr.Health](t, l.must("status", "--json"))
	if got := health.OrphanDetector.OrphanTimeoutSeconds; got != 7.5 || health.Workers.Live != 0 {
		t.Errorf("timeout %v and %d workers, want those of the file", got, health.Workers.Live)
	}
	if _, err := os.Stat(filepath.Join(l.data, "threads.db")); err != nil {
		t.Errorf("the threads' own database: %v", err)
	}
}

func TestServe_ResumesAfterAKill(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	p, said := l.serve("--workers", "1")
	id := l.start("--steps", "80", "--step-ms", "20", "--checkpoint-every", "5")
	l.until(id, "checkpointed", func(op ktrdr.Operation) bool { return op.Checkpoint != nil && op.Checkpoint.Step >= 10 })
	p.End(syscall.SIGKILL)
	l.refused(exitUnreachable, "no server at", "status", id)

	var again backend.Announcement
	l.begin(&again, "serve", "--workers", "1", "--addr", strings.TrimPrefix(said.URL, "http://"))
	out := l.must("follow", id)
	if !strings.Contains(out, dummy.Expected(dummy.Spec{Steps: 80})) {
		t.Errorf("after the kill:\n%s", out)
	}
	if op := l.op(id); op.Epoch != 2 {
		t.Errorf("epoch = %d, want 2: one claim before the kill, one after", op.Epoch)
	}
}

func TestDoctor_FindsAChangedBlob(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	id := l.start("--steps", "4", "--step-ms", "1", "--checkpoint-every", "2", "--artifact-bytes", "70000", "--fail-at", "4")
	l.refused(exitFailed, "FAILED", "follow", id)
	if out := l.must("doctor", "--deep"); strings.Contains(out, "✗") {
		t.Errorf("a sound installation:\n%s", out)
	}
	k := decode[ktrdr.Checkpoint](t, l.must("checkpoints", "show", id, "--json"))
	name := k.Artifacts[0].SHA256.String()
	path := filepath.Join(l.data, "blobs", name[:2], name[2:4], name)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[len(b)/2] ^= 1
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	l.refused(exitFailed, name, "doctor", "--deep")
	if a := l.run("doctor", "--deep"); strings.Count(a.out, name) != 1 {
		t.Errorf("the same blob is reported more than once:\n%s", a.out)
	}

	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	a := l.run("doctor", "--json")
	var missing bool
	for _, f := range decode[[]finding](t, a.out) {
		missing = missing || f.Check == "blobs" && !f.OK && strings.Contains(f.Detail, name) && f.Fix != ""
	}
	if a.code != exitFailed || !missing {
		t.Errorf("a missing blob: %v", a)
	}
}

func TestDoctor_WorksWithoutABackend(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.refused(exitFailed, "does not exist", "doctor")
	p, _ := l.serve("--workers", "0")
	p.End(syscall.SIGTERM)
	a := l.run("doctor")
	if a.code != exitFailed || !strings.Contains(a.out, "✔ database") || !strings.Contains(a.out, "✗ server") {
		t.Errorf("without a backend: %v\nwant the database checked and the server missed", a)
	}
}

func TestDemo_RecoversAndLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	tmp := t.TempDir()
	l.env = append(l.env, "TMPDIR="+tmp)
	a := l.run("demo", "--kill")
	if a.code != exitOK ||
		!regexp.MustCompile(
			`all 10 operations completed, \d+ of them taken from a dead worker; result hash equals the undisturbed one ✔`).MatchString(a.out) {
		t.Fatalf("demo: %v", a)
	}
	for _, part := range []string{"kill -9 of worker 1", ktrdr.MessageOrphaned, "resumed", "kill -9 of the backend", "its worker reported"} {
		if !strings.Contains(a.out, part) {
			t.Errorf("the story does not tell %q:\n%s", part, a.out)
		}
	}
	left, err := os.ReadDir(tmp)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	for _, pid := range regexp.MustCompile(`pid (\d+)`).FindAllStringSubmatch(a.out, -1) {
		if _, err := os.Stat("/proc/" + pid[1]); err == nil {
			cmdline, _ := os.ReadFile("/proc/" + pid[1] + "/cmdline")
			if strings.Contains(string(cmdline), labtest.Binary(t)) {
				t.Errorf("process %s is still there: %q", pid[1], cmdline)
			}
		}
	}
}

func TestFollow_InterruptedSaysSoInJSON(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "0")
	id := l.start("--steps", "2")
	var first eventLine
	p := l.begin(&first, "follow", id)
	if code := p.End(syscall.SIGINT); code != exitInterrupted {
		t.Errorf("exit code = %d, want %d", code, exitInterrupted)
	}
	type failure struct {
		Error struct{ Code, Message string }
	}
	if got := decode[failure](t, p.Err()); got.Error.Code != "interrupted" { // and nothing but JSON
		t.Errorf("it said %s, want the code interrupted", p.Err())
	}
}

func TestFollow_PrintsEventsAsJSONLines(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.serve("--workers", "1")
	a := l.run("dummy", "--steps", "2", "--step-ms", "1", "-f", "--json")
	for line := range strings.Lines(a.out) {
		if !json.Valid([]byte(line)) {
			t.Errorf("not JSON: %s", line)
		}
	}
	first := decode[eventLine](t, strings.SplitN(a.out, "\n", 2)[0])
	if _, err := ktrdr.ParseCursor(first.ID); err != nil || first.Kind != ktrdr.EventCreated {
		t.Errorf("first line = %+v (%v), want the created event with its id", first, fmt.Sprint(err))
	}
}
