package compute

import (
	"context"
	"encoding/json"
	"math"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/worker"
)

// saveLimiter bounds what checkpoints cost. Two periodic checkpoints are at least
// stepGap, or a shorter interval of the worker, apart, and nine times what the last
// one took: a small network trains again in less time than it takes to save it.
type saveLimiter struct {
	task  *worker.Task
	ready time.Time
}

const (
	savingFactor = 9
	stepGap      = 10 * time.Second
)

func newSaveLimiter(t *worker.Task) saveLimiter {
	s := saveLimiter{task: t}
	s.ready = time.Now().Add(s.gap())
	return s
}

func (s *saveLimiter) gap() time.Duration {
	if interval := s.task.Interval(); interval > 0 {
		return min(interval, stepGap)
	}
	return stepGap
}

func (s *saveLimiter) due(step int64) bool { return !time.Now().Before(s.ready) && s.task.Due(step) }

func (s *saveLimiter) save(ctx context.Context, step int64, state any, files ...worker.File) error {
	begun := time.Now()
	err := s.task.Save(ctx, step, state, files...)
	s.ready = time.Now().Add(max(s.gap(), savingFactor*time.Since(begun)))
	return err
}

func contextOf(f jobs.ProgressContext) json.RawMessage {
	text, err := json.Marshal(f)
	if err != nil { // a loss that is not a number; the run will say so itself
		return nil
	}
	return text
}

// preparing tells what happens before the first step. Earlier progress stays.
func preparing(t *worker.Task, what string) {
	p := ktrdr.Progress{CurrentStep: what}
	if t.Checkpoint != nil {
		p.StepsCompleted = t.Checkpoint.Step
	}
	t.Progress(p)
}

// meter tells how fast the work is, and how often to say so.
type meter struct {
	begun time.Time
	from  int64 // units done before
	last  time.Time
}

// tellEvery is the time between two reports of progress.
const tellEvery = 100 * time.Millisecond

func newMeter(from int64) *meter { return &meter{begun: time.Now(), from: from} }

func (m *meter) due() bool {
	now := time.Now()
	if now.Sub(m.last) < tellEvery {
		return false
	}
	m.last = now
	return true
}

// rate is units a second and the seconds that are left; 0 if not known yet.
func (m *meter) rate(done, total int64) (perSecond, eta float64) {
	took := time.Since(m.begun).Seconds()
	if done <= m.from || took <= 0 {
		return 0, 0
	}
	perSecond = float64(done-m.from) / took
	return math.Round(perSecond), math.Round(float64(total-done)/perSecond*10) / 10
}

// storeState stores a state after a step: see worker.Task.
type storeState func(ctx context.Context, step int64, state any, files ...worker.File) error
