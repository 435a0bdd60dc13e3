package memsaver

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// DeleteThread implements ktrdr.Saver.
func (s *Saver) DeleteThread(ctx context.Context, tenant, thread string) error {
	return s.Prune(ctx, tenant, []string{thread}, false)
}

// Prune implements ktrdr.Saver.
func (s *Saver) Prune(ctx context.Context, tenant string, threads []string, keepLatest bool) error {
	for _, id := range threads {
		if err := saver.CheckWritable(tenant, id); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range threads {
		key := threadKey{tenant, id}
		t := s.threads[key]
		switch {
		case !keepLatest:
			delete(s.threads, key)
		case t != nil:
			for _, sp := range t.spaces {
				sp.prune()
			}
		}
	}
	return nil
}

// prune leaves the newest checkpoint and what it needs. Writes may come before
// their checkpoint, so those of ids to come stay too.
func (sp *space) prune() {
	if len(sp.ids) == 0 {
		return
	}
	latest := sp.ids[len(sp.ids)-1]
	keep := map[string]bool{latest: true}
	for _, channel := range saver.DeltaChannels(sp.rows[latest].metadata) {
		if sp.rows[latest].slots[channel].Held {
			continue
		}
		sp.climb(latest, func(ancestor string, r *row) bool {
			keep[ancestor] = true
			return !r.slots[channel].Held
		})
	}
	maps.DeleteFunc(sp.writes, func(id string, _ []write) bool { return id < latest && !keep[id] })
	sp.remove(func(id string, _ *row) bool { return !keep[id] })
	sp.trim()
}

// remove deletes checkpoints and says whether there were any.
func (sp *space) remove(gone func(id string, r *row) bool) bool {
	before := len(sp.ids)
	sp.ids = slices.DeleteFunc(sp.ids, func(id string) bool {
		if !gone(id, sp.rows[id]) {
			return false
		}
		delete(sp.rows, id)
		return true
	})
	return len(sp.ids) < before
}

// trim forgets the values that no checkpoint holds.
func (sp *space) trim() {
	held := make(map[*ktrdr.Value]bool)
	for _, r := range sp.rows {
		for _, slot := range r.slots {
			held[slot.Value] = true
		}
	}
	for key, values := range sp.values {
		values = slices.DeleteFunc(values, func(v *ktrdr.Value) bool { return !held[v] })
		if sp.values[key] = values; len(values) == 0 {
			delete(sp.values, key)
		}
	}
}

// DeleteRuns implements ktrdr.Saver.
func (s *Saver) DeleteRuns(ctx context.Context, tenant string, runs []string) error {
	if err := saver.CheckRuns(tenant, runs); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, t := range s.threads {
		if key.tenant != tenant {
			continue
		}
		for _, sp := range t.spaces {
			removed := sp.remove(func(id string, r *row) bool {
				gone := r.hasRun && slices.Contains(runs, r.run)
				if gone {
					delete(sp.writes, id)
				}
				return gone
			})
			if removed {
				sp.trim()
			}
		}
	}
	return nil
}

// CopyThread implements ktrdr.Saver.
func (s *Saver) CopyThread(ctx context.Context, tenant, src, dst string) error {
	if err := saver.CheckThread(tenant, src); err != nil {
		return err
	}
	if err := saver.CheckWritable(tenant, dst); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if src == dst {
		return nil
	}
	if to := s.threads[threadKey{tenant, dst}]; to != nil {
		if err := saver.Admit(dst, nil, to.holding()); err != nil {
			return err
		}
	}
	from := s.threads[threadKey{tenant, src}]
	if from == nil {
		return nil
	}
	to := s.thread(tenant, dst)
	for ns, sp := range from.spaces {
		to.space(ns).copy(sp)
	}
	return nil
}

// copy takes over what another namespace has. Rows and values are shared, for
// neither is ever changed; a value that is here already stands in for its twin.
func (sp *space) copy(from *space) {
	twins := make(map[*ktrdr.Value]*ktrdr.Value)
	for key, values := range from.values {
		for _, v := range values {
			if i := slices.IndexFunc(sp.values[key], func(have *ktrdr.Value) bool { return equal(*have, *v) }); i >= 0 {
				twins[v] = sp.values[key][i]
			} else {
				sp.values[key] = append(sp.values[key], v)
			}
		}
	}
	for id, r := range from.rows {
		if i, found := slices.BinarySearch(sp.ids, id); !found {
			sp.ids = slices.Insert(sp.ids, i, id)
		}
		copied := *r
		copied.slots = maps.Clone(r.slots)
		for channel, slot := range copied.slots {
			if twin, ok := twins[slot.Value]; ok {
				slot.Value = twin
				copied.slots[channel] = slot
			}
		}
		sp.rows[id] = &copied
	}
	for id, writes := range from.writes {
		for _, w := range writes {
			sp.write(id, w)
		}
	}
}

// Expire deletes the threads whose owner set a TTL that has passed since their
// last put, and says how many. Nothing expires by itself.
func (s *Saver) Expire(ctx context.Context) (int, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	before, now := len(s.threads), time.Now()
	maps.DeleteFunc(s.threads, func(_ threadKey, t *thread) bool {
		return !t.expires.IsZero() && !now.Before(t.expires)
	})
	return before - len(s.threads), nil
}
