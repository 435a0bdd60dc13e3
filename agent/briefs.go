package agent

import (
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

// briefs is a cache of measured briefs: all designs of a run measure the same bars. An
// entry depends on its key alone, so a lost entry changes no design.
type briefs struct {
	mu   sync.Mutex
	list []*measured // the last used first
}

const mostBriefs = 8

type measured struct {
	key   string
	turn  chan struct{} // full while the bars are measured: others wait for the result
	done  bool
	brief designer.Brief
}

// of returns the brief of a design, measured and screened. The first design of a run
// measures the bars. Others wait for it.
func (k *briefs) of(ctx context.Context, t *worker.Task, spec research.DesignSpec) (designer.Brief, error) {
	key, err := json.Marshal(struct {
		Brief designer.Brief
		Bars  []jobs.Bars
		Costs instrument.Costs
	}{spec.Understanding, spec.Bars, spec.Costs})
	if err != nil {
		return designer.Brief{}, err
	}
	m := k.entry(string(key))
	select {
	case m.turn <- struct{}{}:
	case <-ctx.Done():
		return designer.Brief{}, context.Cause(ctx)
	}
	defer func() { <-m.turn }()
	if m.done {
		return m.brief, nil
	}
	if m.brief, err = measure(ctx, t, spec); err != nil {
		return designer.Brief{}, err
	}
	m.done = true
	return m.brief, nil
}

func (k *briefs) entry(key string) *measured {
	k.mu.Lock()
	defer k.mu.Unlock()
	m := &measured{key: key, turn: make(chan struct{}, 1)}
	if i := slices.IndexFunc(k.list, func(m *measured) bool { return m.key == key }); i >= 0 {
		m = k.list[i]
		k.list = slices.Delete(k.list, i, i+1)
	}
	k.list = slices.Insert(k.list, 0, m)
	k.list = k.list[:min(len(k.list), mostBriefs)]
	return m
}

// measure describes the market by all series of the brief, and screens its readings.
func measure(ctx context.Context, t *worker.Task, spec research.DesignSpec) (designer.Brief, error) {
	b := spec.Understanding
	in := &inputs{task: t}
	defer in.close()
	var all []*market.Bars
	for _, want := range spec.Bars {
		read := slices.Contains(b.Symbols, want.Symbol) || slices.Contains(b.Context, want.Symbol)
		if !read || !slices.Contains(b.Timeframes(), want.Timeframe) {
			continue
		}
		bars, err := in.bars(ctx, want)
		if err != nil {
			return b, err
		}
		all = append(all, bars)
	}
	if err := b.Measure(all); err != nil {
		return b, ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
	}
	if err := b.Screen(all, spec.Costs); err != nil {
		return b, ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
	}
	return b, nil
}
