package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
)

// saves is what a job remembers of its checkpoints.
type saves struct {
	writing sync.Mutex // one save at a time, so that seq is their order

	mu          sync.Mutex
	fingerprint map[string]string
	seq         int64
	lastStep    int64
	lastAt      time.Time
	kinds       map[ktrdr.CheckpointType]bool
	end         *ktrdr.NewCheckpoint
	endFiles    map[ktrdr.Hash][]byte
}

// begin starts the clock of the first checkpoint.
func (s *saves) begin(from *Checkpoint) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastAt = time.Now()
	if from != nil {
		s.lastStep = from.Step
	}
}

func (s *saves) identify(fingerprint map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fingerprint = maps.Clone(fingerprint)
}

func (s *saves) due(step, every int64, after time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return step > s.lastStep && (every > 0 && step-s.lastStep >= every || after > 0 && time.Since(s.lastAt) >= after)
}

func (s *saves) done(kind ktrdr.CheckpointType, step int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastStep, s.lastAt = step, time.Now()
	if s.kinds == nil {
		s.kinds = make(map[ktrdr.CheckpointType]bool)
	}
	s.kinds[kind] = true
}

func (s *saves) saved(kind ktrdr.CheckpointType) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[kind]
}

func (s *saves) setFinal(c *ktrdr.NewCheckpoint, files map[ktrdr.Hash][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.end, s.endFiles = c, files
}

func (s *saves) final() (*ktrdr.NewCheckpoint, map[ktrdr.Hash][]byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.end, s.endFiles
}

// maxName bounds an artifact's name.
const maxName = 128

// checkpoint makes the request that stores a checkpoint, under the next number.
func (j *job) checkpoint(kind ktrdr.CheckpointType, step int64, state any, files []File) (*ktrdr.NewCheckpoint,
	map[ktrdr.Hash][]byte, error,
) {
	data, err := json.Marshal(state)
	if err != nil {
		return nil, nil, ktrdr.Errorf(ktrdr.CodeInvalid, "state at step %d: %w", step, err)
	}
	if len(data) > ktrdr.MaxState {
		return nil, nil, ktrdr.Errorf(ktrdr.CodeTooLarge, "state at step %d is %d bytes, over the limit of %d: save what is large as a file",
			step, len(data), ktrdr.MaxState)
	}
	c := &ktrdr.NewCheckpoint{Operation: j.claim.op, Epoch: j.claim.epoch, Type: kind, Step: step, State: data}
	byHash := make(map[ktrdr.Hash][]byte, len(files))
	names := make(map[string]bool, len(files))
	for _, f := range files {
		if f.Name == "" || len(f.Name) > maxName || names[f.Name] {
			return nil, nil, ktrdr.Errorf(ktrdr.CodeInvalid, "file name %.128q: each file of a checkpoint needs a name of its own of 1 to %d bytes",
				f.Name, maxName)
		}
		names[f.Name] = true
		h := ktrdr.Hash(sha256.Sum256(f.Bytes))
		byHash[h] = f.Bytes
		c.Artifacts = append(c.Artifacts, ktrdr.Artifact{Name: f.Name, SHA256: h, Size: int64(len(f.Bytes))})
	}
	j.saves.mu.Lock()
	defer j.saves.mu.Unlock()
	j.saves.seq++
	c.Seq, c.Fingerprint = j.saves.seq, j.saves.fingerprint
	return c, byHash, nil
}

// save stores a checkpoint at the backend or in the spool.
func (j *job) save(ctx context.Context, kind ktrdr.CheckpointType, step int64, state any, files []File) error {
	if j.replay {
		return nil
	}
	j.saves.writing.Lock()
	defer j.saves.writing.Unlock()
	c, byHash, err := j.checkpoint(kind, step, state, files)
	if err != nil {
		return err
	}
	ctx, cancel := j.writing(ctx)
	defer cancel()
	j.cache(ctx, byHash)
	if j.isLost() {
		return ktrdr.ErrLost
	}
	fault.Hit(fault.WorkerSaving)
	acknowledged, err := j.w.deliver(ctx, &entry{Checkpoint: c, files: byHash})
	if judge(err) == stale {
		j.dropClaim()
	}
	if j.isLost() {
		return ktrdr.ErrLost
	}
	if err != nil {
		return fmt.Errorf("checkpoint at step %d: %w", step, err)
	}
	if acknowledged {
		fault.Hit(fault.WorkerSaved)
	}
	j.step.Store(step)
	j.saves.done(kind, step)
	return nil
}

// writing is a context for writes made on behalf of ctx. It does not end with ctx,
// but when the job may write no more.
func (j *job) writing(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(j.writes, cancel)
	return ctx, func() {
		stop()
		cancel()
	}
}

// cache keeps the files for a resume on this machine.
func (j *job) cache(ctx context.Context, files map[ktrdr.Hash][]byte) {
	if j.w.cfg.Blobs == nil {
		return
	}
	for h, b := range files {
		if err := j.w.cfg.Blobs.Put(ctx, h, bytes.NewReader(b)); err != nil {
			j.log.Debug("blob is not cached", "blob", h, "err", err)
		}
	}
}
