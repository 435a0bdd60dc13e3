package engine_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/engine"
	"github.com/ktrdr/ktrdr/sqlstore"
	"github.com/ktrdr/ktrdr/storetest"
	"github.com/ktrdr/ktrdr/thread"
)

// lab is an engine over a real store and real blobs.
type lab struct {
	*engine.Engine
	t     *testing.T
	store *sqlstore.Store
	blobs string
}

func newLab(t *testing.T, change func(*engine.Config)) *lab {
	t.Helper()
	return newLabWith(t, dummy.Types()[ktrdr.Dummy].Plan, change)
}

// newLabWith is newLab with another plan for dummy parents.
func newLabWith(t *testing.T, plan ktrdr.Plan, change func(*engine.Config)) *lab {
	t.Helper()
	dir := t.TempDir()
	types := storetest.Types(nil)
	definition := dummy.Types()[ktrdr.Dummy]
	definition.Plan = plan
	types[ktrdr.Dummy] = definition
	store, err := sqlstore.Open(t.Context(), sqlstore.Config{URL: filepath.Join(dir, "ktrdr.db"), Types: types})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	l := &lab{t: t, store: store, blobs: filepath.Join(dir, "blobs")}
	blobs, err := blob.Open(t.Context(), l.blobs)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = blobs.Close() })
	config := engine.Config{
		Store: store, Blobs: blobs, Saver: store.Saver(), Inline: thread.InlineValue,
		Backend: ktrdr.Backend{ID: "b", Incarnation: "b.1", Version: "test"}, Types: types,
	}
	if change != nil {
		change(&config)
	}
	if l.Engine, err = engine.New(config); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return l
}

var dummies = []ktrdr.Type{ktrdr.Dummy}

func (l *lab) submit() ktrdr.Operation {
	l.t.Helper()
	n, err := dummy.Operation(dummy.Spec{Steps: 10})
	if err != nil {
		l.t.Fatal(err)
	}
	op, err := l.Submit(l.t.Context(), n, ktrdr.IdempotencyKey{})
	if err != nil {
		l.t.Fatal(err)
	}
	return op
}

func (l *lab) register(id ktrdr.WorkerID) {
	l.t.Helper()
	_, err := l.Register(l.t.Context(), ktrdr.Registration{Protocol: ktrdr.Protocol, Worker: ktrdr.Worker{ID: id, Types: dummies, Slots: 1}})
	if err != nil {
		l.t.Fatal(err)
	}
}

func (l *lab) claimOne() *ktrdr.Task {
	l.t.Helper()
	reply, err := l.Claim(l.t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: rand.Text(), Types: dummies, Free: 1})
	if err != nil {
		l.t.Fatal(err)
	}
	if reply.Task == nil {
		l.t.Fatal("nothing to claim")
	}
	return reply.Task
}

// save stores a checkpoint with one artifact and returns the artifact's hash.
func (l *lab) save(task *ktrdr.Task, seq int64) ktrdr.Hash {
	l.t.Helper()
	content := bytes.Repeat([]byte{byte(seq)}, 1000)
	h := ktrdr.Hash(sha256.Sum256(content))
	if _, err := l.PutBlob(l.t.Context(), h, bytes.NewReader(content)); err != nil {
		l.t.Fatal(err)
	}
	print, err := dummy.Types()[ktrdr.Dummy].Fingerprint(task.Spec)
	if err != nil {
		l.t.Fatal(err)
	}
	_, err = l.Checkpoint(l.t.Context(), ktrdr.NewCheckpoint{
		Operation: task.Operation, Epoch: task.Epoch, Seq: seq, Type: ktrdr.CheckpointPeriodic, Step: seq, Fingerprint: print,
		State: json.RawMessage(`{}`), Artifacts: []ktrdr.Artifact{{Name: "a", SHA256: h, Size: int64(len(content))}},
	})
	if err != nil {
		l.t.Fatal(err)
	}
	return h
}

func (l *lab) path(h ktrdr.Hash) string {
	name := h.String()
	return filepath.Join(l.blobs, name[:2], name[2:4], name)
}

func TestClaim_OpenPollHearsNewWorkAndCancelsAtOnce(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.register("w")
	replies := make(chan ktrdr.ClaimReply, 1)
	poll := func(req ktrdr.ClaimRequest) {
		req.Worker, req.Types, req.Wait = "w", dummies, 30
		go func() {
			reply, err := l.Claim(t.Context(), req)
			if err != nil {
				t.Error(err)
			}
			replies <- reply
		}()
	}
	for range 10 {
		poll(ktrdr.ClaimRequest{Key: rand.Text(), Free: 1})
		op := l.submit()
		task := (<-replies).Task
		if task == nil || task.Operation != op.ID {
			t.Fatalf("got %+v, want a claim of %s", task, op.ID)
		}
		claim := ktrdr.Claimed{Operation: op.ID, Epoch: task.Epoch}
		poll(ktrdr.ClaimRequest{Running: []ktrdr.Claimed{claim}})
		if _, _, err := l.Cancel(t.Context(), op.ID, "enough"); err != nil {
			t.Fatal(err)
		}
		if reply := <-replies; len(reply.Cancel) != 1 || reply.Cancel[0].Operation != op.ID {
			t.Fatalf("got %+v, want the cancel of %s", reply, op.ID)
		}
		if err := l.Finish(t.Context(), ktrdr.Finished{Operation: op.ID, Epoch: task.Epoch, Outcome: ktrdr.Completed}); err != nil {
			t.Fatal(err)
		}
		if got, err := l.Operation(t.Context(), op.ID); err != nil || got.Status != ktrdr.Cancelled {
			t.Fatalf("%s is %s after a cancel and a finish, want CANCELLED", op.ID, got.Status)
		}
	}
}

// sameHint is a store whose hints get lost: it always gives out the same one,
// and no client ever sends it.
type sameHint struct {
	ktrdr.Store
	hint   chan struct{}
	looked chan struct{}
}

func (s sameHint) Ready() <-chan struct{} { return s.hint }

func (s sameHint) Claim(ctx context.Context, c ktrdr.ClaimRequest, by ktrdr.Incarnation) (*ktrdr.Task, error) {
	task, err := s.Store.Claim(ctx, c, by)
	select {
	case s.looked <- struct{}{}:
	default:
	}
	return task, err
}

func TestClaim_PollingIsTheTruthWhenHintsAreLost(t *testing.T) {
	t.Parallel()
	looked := make(chan struct{}, 1)
	l := newLab(t, func(c *engine.Config) { c.Store = sameHint{c.Store, make(chan struct{}), looked} })
	l.register("w")
	replies := make(chan ktrdr.ClaimReply)
	go func() {
		reply, err := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: dummies, Free: 1, Wait: 30})
		if err != nil {
			t.Error(err)
		}
		replies <- reply
	}()
	<-looked // and found nothing
	op := l.submit()
	if reply := <-replies; reply.Task == nil || reply.Task.Operation != op.ID {
		t.Errorf("the poll ended with %+v, want %s", reply.Task, op.ID)
	}
}

func TestRegister_AnotherProtocolIsRefusedWithASentence(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for protocol, older := range map[int]string{ktrdr.Protocol - 1: "upgrade the worker", ktrdr.Protocol + 1: "upgrade the backend"} {
		_, err := l.Register(t.Context(), ktrdr.Registration{Protocol: protocol, Worker: ktrdr.Worker{ID: "w", Types: dummies, Slots: 1}})
		if ktrdr.CodeOf(err) != ktrdr.CodeProtocol || !strings.Contains(err.Error(), older) {
			t.Errorf("protocol %d: %v, want %s", protocol, err, older)
		}
	}
}

func TestClaim_MissingBlobMeansTheCheckpointBefore(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	l.save(task, 1)
	gone := l.save(task, 2)
	if err := l.Release(t.Context(), ktrdr.Released{Operation: op.ID, Epoch: task.Epoch}); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(l.path(gone)); err != nil {
		t.Fatal(err)
	}
	if got := l.claimOne(); got.Checkpoint == nil || got.Checkpoint.Seq != 1 {
		t.Errorf("claimed with checkpoint %+v, want the first", got.Checkpoint)
	}
	skipped := 0
	events, err := l.Events(t.Context(), ktrdr.EventQuery{Operation: op.ID})
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Kind == ktrdr.EventCheckpointSkipped {
			skipped++
		}
	}
	if skipped != 1 {
		t.Errorf("%d events name the skipped checkpoint, want 1", skipped)
	}
}

func TestSkipCheckpoint_IsCheckedBeforeItIsBelieved(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.submit()
	task := l.claimOne()
	l.save(task, 1)
	bad := l.save(task, 2)
	skip := ktrdr.Skip{Operation: task.Operation, Epoch: task.Epoch, Checkpoint: ktrdr.CheckpointID(task.Epoch, 2), Reason: "hash differs"}

	same, err := l.SkipCheckpoint(t.Context(), skip)
	if err != nil || same == nil || same.Seq != 2 {
		t.Fatalf("skip of a whole checkpoint: %+v, %v, want it back", same, err)
	}
	content := bytes.Repeat([]byte{2}, 1000)
	content[500] ^= 1
	if err := os.WriteFile(l.path(bad), content, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := l.SkipCheckpoint(t.Context(), skip)
	if err != nil || before == nil || before.Seq != 1 {
		t.Fatalf("skip of a corrupt checkpoint: %+v, %v, want the first", before, err)
	}
	if n := l.Counters().CheckpointsSkipped; n != 1 {
		t.Errorf("%d skips counted, want 1", n)
	}
}

func TestCheckpoint_NamesNoBlobThatIsNotThere(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.submit()
	task := l.claimOne()
	_, err := l.Checkpoint(t.Context(), ktrdr.NewCheckpoint{
		Operation: task.Operation, Epoch: task.Epoch, Seq: 1, Type: ktrdr.CheckpointPeriodic,
		State: json.RawMessage(`{}`), Artifacts: []ktrdr.Artifact{{Name: "a", SHA256: ktrdr.Hash{1}, Size: 1}},
	})
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
		t.Errorf("err = %v, want CodeInvalid", err)
	}
}

func TestCheckpoint_LargeStateComesBackComplete(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	state := json.RawMessage(`"` + strings.Repeat("x", 3*ktrdr.InlineState) + `"`)
	for seq, send := range []func(ktrdr.NewCheckpoint) error{
		func(c ktrdr.NewCheckpoint) error { _, err := l.Checkpoint(t.Context(), c); return err },
		func(c ktrdr.NewCheckpoint) error {
			return l.Finish(t.Context(), ktrdr.Finished{Operation: op.ID, Epoch: task.Epoch, Outcome: ktrdr.Completed, Checkpoint: &c})
		},
	} {
		c := ktrdr.NewCheckpoint{Operation: op.ID, Epoch: task.Epoch, Seq: int64(seq) + 1, Type: ktrdr.CheckpointFinal, State: state}
		if err := send(c); err != nil {
			t.Fatal(err)
		}
		got, err := l.CheckpointAt(t.Context(), op.ID, "")
		if err != nil || !bytes.Equal(got.State, state) || got.Seq != c.Seq {
			t.Errorf("checkpoint %d came back with %d bytes, %v, want %d", got.Seq, len(got.State), err, len(state))
		}
	}
}

func TestResume_RefusesACheckpointOfAnotherMaking(t *testing.T) {
	t.Parallel()
	numerics := "1"
	l := newLab(t, func(c *engine.Config) {
		d := c.Types[ktrdr.Dummy]
		made := d.Fingerprint
		d.Fingerprint = func(spec []byte) (map[string]string, error) {
			print, err := made(spec)
			if numerics != "1" {
				print["numerics"] = numerics
			}
			return print, err
		}
		c.Types[ktrdr.Dummy] = d
	})
	op := l.submit()
	task := l.claimOne()
	l.save(task, 1)
	if err := l.Finish(t.Context(), ktrdr.Finished{
		Operation: op.ID, Epoch: task.Epoch, Outcome: ktrdr.Failed, ErrorMessage: "x",
	}); err != nil {
		t.Fatal(err)
	}
	numerics = "dummy/2"
	_, err := l.Resume(t.Context(), op.ID)
	if ktrdr.CodeOf(err) != ktrdr.CodeMismatch || !strings.Contains(err.Error(), "numerics") || strings.Contains(err.Error(), "spec (") {
		t.Errorf("err = %v, want CodeMismatch that names numerics alone", err)
	}
	numerics = "1"
	if _, err := l.Resume(t.Context(), op.ID); err != nil {
		t.Errorf("resume with the same making: %v", err)
	}
}

func TestSubmit_IsRefusedWhenTheDiskIsNearlyFull(t *testing.T) {
	t.Parallel()
	free := int64(100 << 20)
	l := newLab(t, func(c *engine.Config) { c.FreeDisk = func() (int64, error) { return free, nil } })
	n, err := dummy.Operation(dummy.Spec{Steps: 1})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Submit(t.Context(), n, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeNoSpace {
		t.Errorf("err = %v, want CodeNoSpace", err)
	}
	if h := l.Health(t.Context()); h.Status != "degraded" || h.DiskFreeBytes != free || !h.Store.OK { // which would be 503
		t.Errorf("health is %s with %d bytes free, store %+v, want degraded with %d", h.Status, h.DiskFreeBytes, h.Store, free)
	}
	free = 1 << 40
	if _, err := l.Submit(t.Context(), n, ktrdr.IdempotencyKey{}); err != nil {
		t.Errorf("with space again: %v", err)
	}
}

func TestOperation_SaysWhyItCannotStart(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	why := func() string {
		t.Helper()
		got, err := l.Operation(t.Context(), op.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got.Unschedulable
	}
	if got := why(); !strings.Contains(got, "no live worker offers dummy") || !strings.Contains(got, "ktrdr worker --types dummy") {
		t.Errorf("without a worker: %q", got)
	}
	if h := l.Health(t.Context()); h.Unschedulable != 1 {
		t.Errorf("health counts %d unschedulable, want 1", h.Unschedulable)
	}
	l.register("w")
	if got := why(); got != "" {
		t.Errorf("with a worker: %q", got)
	}
	if err := l.SetPaused(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if got := why(); !strings.Contains(got, "paused") {
		t.Errorf("paused: %q", got)
	}
}

func TestHealth_TellsTheTruthAboutTheDetectorAndTheStore(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Settings.CheckInterval = 5 * time.Millisecond })
	if h := l.Health(t.Context()); h.OrphanDetector.Running || h.Status != "degraded" {
		t.Errorf("before Run: %s, detector %+v", h.Status, h.OrphanDetector)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- l.Run(ctx) }()
	deadline := time.Now().Add(10 * time.Second)
	for l.Health(t.Context()).OrphanDetector.LastCheck.IsZero() {
		if time.Now().After(deadline) {
			t.Fatal("the detector never checked")
		}
	}
	if at := l.Health(t.Context()).OrphanDetector.LastCheck; at.Nanosecond()%1000 != 0 {
		t.Errorf("last checked at %v, want microseconds", at)
	}
	if h := l.Health(t.Context()); !h.OrphanDetector.Running || h.Status != "ok" || !h.Store.OK {
		t.Errorf("while it runs: %s %v, detector %+v", h.Status, h.Problems, h.OrphanDetector)
	}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if h := l.Health(t.Context()); h.OrphanDetector.Running {
		t.Error("after Run the detector says it runs")
	}
	_ = l.store.Close()
	eventually(t, "the closed store is noticed", func() bool {
		h := l.Health(t.Context())
		return !h.Store.OK && h.Status == "degraded"
	})
}

func TestDrain_EndsOpenPollsAndHandsOutNothing(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	replies := make(chan ktrdr.ClaimReply)
	go func() {
		reply, _ := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k", Types: dummies, Free: 1, Wait: 30})
		replies <- reply
	}()
	l.Drain()
	if reply := <-replies; reply.Task != nil {
		t.Errorf("got %+v while draining", reply.Task)
	}
	l.submit()
	reply, err := l.Claim(t.Context(), ktrdr.ClaimRequest{Worker: "w", Key: "k2", Types: dummies, Free: 1})
	if err != nil || reply.Task != nil {
		t.Errorf("got %+v, %v after Drain, want nothing", reply.Task, err)
	}
}

func TestRun_EndsWhenANewerLifeOfTheBackendHasStarted(t *testing.T) {
	t.Parallel()
	l := newLab(t, func(c *engine.Config) { c.Settings.HeartbeatInterval = 5 * time.Millisecond })
	done := make(chan error)
	go func() { done <- l.Run(t.Context()) }()
	newer := ktrdr.Backend{ID: "b", Incarnation: "b.2"}
	if _, err := l.store.Start(t.Context(), newer, ktrdr.RecoveryPolicy{Timeout: time.Minute}); err != nil {
		t.Fatal(err)
	}
	if err := <-done; ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("Run returned %v, want CodeConflict", err)
	}
}

func TestStepsOutOfRange_AreRefused(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	l.submit()
	task := l.claimOne()
	for _, step := range []int64{-1, 1<<53 + 1, math.MaxInt64} {
		claim := ktrdr.Claimed{Operation: task.Operation, Epoch: task.Epoch, Step: step}
		_, beat := l.Heartbeat(t.Context(), ktrdr.Heartbeat{Worker: "w", Running: []ktrdr.Claimed{claim}})
		_, save := l.Checkpoint(t.Context(), ktrdr.NewCheckpoint{
			Operation: task.Operation, Epoch: task.Epoch, Seq: 1, Type: ktrdr.CheckpointPeriodic, Step: step, State: json.RawMessage(`{}`),
		})
		progress := l.Progress(t.Context(), ktrdr.ProgressReport{
			Operation: task.Operation, Epoch: task.Epoch, Progress: ktrdr.Progress{StepsCompleted: step},
		})
		for what, err := range map[string]error{"heartbeat": beat, "checkpoint": save, "progress": progress} {
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				t.Errorf("%s at step %d: %v, want CodeInvalid", what, step, err)
			}
		}
	}
	if op, err := l.Operation(t.Context(), task.Operation); err != nil || op.MaxStep != 0 {
		t.Errorf("max_step is %d after refused steps, %v", op.MaxStep, err)
	}
}

func TestRevokeToken_KeepsTheLastAdmin(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	for i, scope := range []ktrdr.Scope{ktrdr.ScopeAdmin, ktrdr.ScopeRead, ktrdr.ScopeAdmin} {
		token := ktrdr.Token{ID: "tok_" + string(rune('a'+i)), Name: "t", Scope: scope, Hash: ktrdr.Hash{byte(i + 1)}}
		if err := l.AddToken(t.Context(), token); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"tok_b", "tok_c"} {
		if err := l.RevokeToken(t.Context(), id); err != nil {
			t.Errorf("revoke %s: %v", id, err)
		}
	}
	if err := l.RevokeToken(t.Context(), "tok_a"); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
		t.Errorf("revoke of the last admin token: %v, want CodeConflict", err)
	}
}
