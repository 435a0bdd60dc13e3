package memsaver

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// GetTuple implements ktrdr.Saver.
func (s *Saver) GetTuple(ctx context.Context, ref ktrdr.ThreadRef) (ktrdr.ThreadTuple, error) {
	if err := saver.CheckRef(ref); err != nil {
		return ktrdr.ThreadTuple{}, err
	}
	if err := ctx.Err(); err != nil {
		return ktrdr.ThreadTuple{}, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()

	sp, id, err := s.find(ref)
	if err != nil {
		return ktrdr.ThreadTuple{}, err
	}
	return sp.tuple(ref.Thread, ref.NS, id), nil
}

// find returns the namespace and the id of the checkpoint that ref means.
func (s *Saver) find(ref ktrdr.ThreadRef) (*space, string, error) {
	if t := s.threads[threadKey{ref.Tenant, ref.Thread}]; t != nil {
		if sp := t.spaces[ref.NS]; sp != nil && len(sp.ids) > 0 {
			id := cmp.Or(ref.Checkpoint, sp.ids[len(sp.ids)-1])
			if sp.rows[id] != nil {
				return sp, id, nil
			}
		}
	}
	return nil, "", saver.NotFound(ref)
}

// List implements ktrdr.Saver.
func (s *Saver) List(ctx context.Context, q ktrdr.ThreadQuery) ([]ktrdr.ThreadTuple, error) {
	filter, err := saver.ReadQuery(q)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()

	found := s.match(q, filter)
	slices.SortFunc(found, func(a, b place) int { return a.listed().Compare(b.listed()) })
	if q.After != nil {
		found = slices.DeleteFunc(found, func(p place) bool { return p.listed().Compare(*q.After) <= 0 })
	}
	if q.Limit != nil {
		found = found[:min(*q.Limit, len(found))]
	}
	budget := saver.NewBudget(q.MaxBytes)
	tuples := make([]ktrdr.ThreadTuple, 0, len(found))
	for _, p := range found {
		tuple := p.sp.tuple(p.thread, p.ns, p.id)
		if err := budget.Take(saver.TupleSize(tuple)); err != nil {
			return nil, err
		}
		tuples = append(tuples, tuple)
	}
	return tuples, nil
}

// place is where a checkpoint is.
type place struct {
	thread, ns, id string
	sp             *space
}

func (p place) listed() ktrdr.ThreadPlace {
	return ktrdr.ThreadPlace{Thread: p.thread, NS: p.ns, ID: p.id}
}

func (s *Saver) match(q ktrdr.ThreadQuery, filter saver.Filter) []place {
	var found []place
	for key, t := range s.threads {
		if key.tenant != q.Tenant || q.Thread != nil && *q.Thread != key.thread {
			continue
		}
		for ns, sp := range t.spaces {
			if q.NS != nil && *q.NS != ns {
				continue
			}
			for _, id := range sp.ids {
				if (q.Checkpoint == "" || q.Checkpoint == id) && (q.Before == "" || id < q.Before) && filter.Match(sp.rows[id].metadata) {
					found = append(found, place{key.thread, ns, id, sp})
				}
			}
		}
	}
	return found
}

// History implements ktrdr.Saver.
func (s *Saver) History(ctx context.Context, ref ktrdr.ThreadRef, channels []string) (map[string]ktrdr.ChannelHistory, error) {
	if err := saver.CheckHistory(ref, channels); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	s.mu.RLock()
	defer s.mu.RUnlock()

	sp, id, err := s.find(ref)
	if err != nil {
		return nil, err
	}
	trail := saver.NewTrail(channels)
	sp.climb(id, func(ancestor string, r *row) bool {
		if len(trail.Open()) == 0 {
			return false
		}
		trail.Step(replay(sp.writes[ancestor]), func(channel string) *ktrdr.Value {
			slot := r.slots[channel]
			if !slot.Held {
				return nil
			}
			v := clone(*slot.Value)
			return &v
		})
		return true
	})
	return trail.Histories(), nil
}

// climb visits the ancestors of a checkpoint, its parent first, until visit
// says stop, the chain ends or it bites its tail.
func (sp *space) climb(id string, visit func(ancestor string, r *row) bool) {
	seen := map[string]bool{id: true}
	for {
		id = sp.rows[id].parent
		r := sp.rows[id]
		if r == nil || seen[id] || !visit(id, r) {
			return
		}
		seen[id] = true
	}
}

// replay orders writes as a history replays them: by task path first.
func replay(writes []write) []ktrdr.PendingWrite {
	ordered := slices.Clone(writes)
	slices.SortStableFunc(ordered, func(a, b write) int { return strings.Compare(a.path, b.path) })
	return pending(ordered)
}

func pending(writes []write) []ktrdr.PendingWrite {
	out := make([]ktrdr.PendingWrite, 0, len(writes))
	for _, w := range writes {
		out = append(out, ktrdr.PendingWrite{Task: w.task, Channel: w.channel, Value: clone(w.value)})
	}
	return out
}

// tuple copies a checkpoint out.
func (sp *space) tuple(thread, ns, id string) ktrdr.ThreadTuple {
	r := sp.rows[id]
	t := ktrdr.ThreadTuple{
		Thread: thread, NS: ns, ID: id, Parent: r.parent,
		Checkpoint: slices.Clone(r.checkpoint), Metadata: slices.Clone(r.metadata),
		Values:        make(map[string]ktrdr.Value, len(r.slots)),
		PendingWrites: pending(sp.writes[id]),
	}
	for channel, slot := range r.slots {
		if slot.Held {
			t.Values[channel] = clone(*slot.Value)
		}
	}
	if saver.WantsSends(r.format, r.parent) {
		for _, w := range sp.writes[r.parent] {
			if w.channel == saver.SendsChannel {
				t.PendingSends = append(t.PendingSends, clone(w.value))
			}
		}
	}
	return t
}
