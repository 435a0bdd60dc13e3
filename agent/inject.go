package agent

import (
	"context"
	"encoding/json"

	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// Inject lets a runner go wrong where the backend says so with the claim: see
// research.Injection. It is around every runner that a research has work for.
func Inject(r worker.Runner) worker.Runner { return injected{r} }

type injected struct{ worker.Runner }

// Run does to the work what was injected, and then the work. What is stopped
// before the work began leaves no checkpoint: there may be one of an earlier
// attempt, and this one knows nothing better.
func (r injected) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	if t.Inject != "" {
		i, err := research.ParseAction(t.Inject)
		if err != nil {
			return nil, err
		}
		if err := i.Do(ctx); err != nil {
			return nil, err
		}
	}
	return r.Runner.Run(ctx, t)
}
