package savertest

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ktrdr/ktrdr/thread"
)

// reference is the plainest thread.Saver that keeps the rules. Other savers are
// compared with it after random sequences of calls, so it has no index and no
// cache: every call scans everything.
type reference struct {
	mu          sync.Mutex
	checkpoints map[place]checkpoint
	writes      map[place][]write // sorted by (task, idx); the checkpoint may come later
	seen        []seen            // values in the order in which they came
	leases      map[owner]thread.Lease
	tokens      int64
}

type (
	owner struct{ tenant, thread string }
	space struct {
		owner
		ns string
	}
	place struct {
		space
		id string
	}
)

// checkpoint is never changed once it is stored, nor is what it points to.
type checkpoint struct {
	put   thread.Put
	as    thread.ParsedPut
	slots map[string]slot
}

type slot struct {
	version string
	value   *thread.Value // nil: the channel is empty
}

type seen struct {
	space
	channel, version string
	value            *thread.Value
}

type write struct {
	path string
	idx  int
	thread.PendingWrite
}

func newReference() *reference {
	return &reference{
		checkpoints: map[place]checkpoint{}, writes: map[place][]write{}, leases: map[owner]thread.Lease{},
		tokens: time.Now().UnixMicro(),
	}
}

func at(ref thread.Ref) place {
	return place{space{owner{ref.Tenant, ref.Thread}, ref.NS}, ref.Checkpoint}
}

func copied(v thread.Value) thread.Value {
	return thread.Value{Type: v.Type, Bytes: append([]byte{}, v.Bytes...)}
}

// locked runs a call that was found valid.
func (r *reference) locked(ctx context.Context, invalid error, do func() error) error {
	if err := cmp.Or(invalid, ctx.Err()); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return do()
}

func (r *reference) Put(ctx context.Context, p thread.Put) (thread.Ref, error) {
	d, err := thread.ParsePut(p)
	return d.Ref, r.locked(ctx, err, func() error {
		here := at(d.Ref)
		if err := cmp.Or(thread.CheckLease(p.Thread, p.Lease, r.live(here.owner)), d.CheckLatest(r.latest(here.space))); err != nil {
			return err
		}
		slots := map[string]slot{}
		for channel, c := range d.Channels {
			slots[channel] = r.slot(d, channel, c)
		}
		p.Checkpoint, p.Metadata = slices.Clone(p.Checkpoint), slices.Clone(p.Metadata)
		r.checkpoints[here] = checkpoint{p, d, slots}
		return nil
	})
}

// slot finds the value of one channel of a put: its own, its parent's, its
// former one, or the first that the namespace had of that version.
func (r *reference) slot(d thread.ParsedPut, channel string, c thread.Channel) slot {
	here := at(d.Ref)
	if c.New {
		s := slot{version: c.Version}
		if c.Value != nil {
			s.value = r.keep(seen{here.space, channel, c.Version, new(copied(*c.Value))})
		}
		return s
	}
	for _, id := range []string{d.Parent, d.Ref.Checkpoint} {
		if s, ok := r.checkpoints[place{here.space, id}].slots[channel]; ok && s.version == c.Version {
			return s
		}
	}
	for _, s := range r.seen {
		if s.space == here.space && s.channel == channel && s.version == c.Version {
			return slot{c.Version, s.value}
		}
	}
	return slot{version: c.Version}
}

// keep remembers a value, once, and returns the one that is remembered.
func (r *reference) keep(v seen) *thread.Value {
	for _, s := range r.seen {
		if s.space == v.space && s.channel == v.channel && s.version == v.version &&
			s.value.Type == v.value.Type && string(s.value.Bytes) == string(v.value.Bytes) {
			return s.value
		}
	}
	r.seen = append(r.seen, v)
	return v.value
}

// ids are those of the checkpoints of a namespace, in order.
func (r *reference) ids(in space) (ids []string) {
	for p := range r.checkpoints {
		if p.space == in {
			ids = append(ids, p.id)
		}
	}
	slices.Sort(ids)
	return ids
}

func (r *reference) latest(in space) string {
	ids := r.ids(in)
	if len(ids) == 0 {
		return ""
	}
	return ids[len(ids)-1]
}

func (r *reference) PutWrites(ctx context.Context, w thread.Writes) error {
	return r.locked(ctx, thread.CheckWrites(w), func() error {
		here := at(thread.Ref{Tenant: w.Tenant, Thread: w.Thread, NS: w.NS, Checkpoint: w.Checkpoint})
		if err := thread.CheckLease(w.Thread, w.Lease, r.live(here.owner)); err != nil {
			return err
		}
		for _, one := range w.Writes {
			r.write(here, write{w.TaskPath, one.Idx, thread.PendingWrite{Task: w.Task, Channel: one.Channel, Value: copied(one.Value)}})
		}
		return nil
	})
}

// write stores one pending write: for idx >= 0 the first wins, else the last.
func (r *reference) write(to place, w write) {
	all := r.writes[to]
	i, found := slices.BinarySearchFunc(all, w, func(a, b write) int {
		return cmp.Or(strings.Compare(a.Task, b.Task), cmp.Compare(a.idx, b.idx))
	})
	switch {
	case !found:
		r.writes[to] = slices.Insert(all, i, w)
	case w.idx < 0:
		all[i] = w
	}
}

func (r *reference) GetTuple(ctx context.Context, ref thread.Ref) (t thread.Tuple, err error) {
	err = r.locked(ctx, thread.CheckRef(ref), func() error {
		p, err := r.find(ref)
		if err == nil {
			t = r.tuple(p)
		}
		return err
	})
	return t, err
}

func (r *reference) find(ref thread.Ref) (place, error) {
	p := at(ref)
	p.id = cmp.Or(p.id, r.latest(p.space))
	if _, ok := r.checkpoints[p]; !ok {
		return p, thread.NotFound(ref)
	}
	return p, nil
}

// tuple copies a checkpoint out.
func (r *reference) tuple(p place) thread.Tuple {
	c := r.checkpoints[p]
	t := thread.Tuple{
		Thread: p.thread, NS: p.ns, ID: p.id, Parent: c.put.Parent,
		Checkpoint: slices.Clone(c.put.Checkpoint), Metadata: slices.Clone(c.put.Metadata),
		Values: map[string]thread.Value{}, PendingWrites: pending(r.writes[p]),
	}
	for channel, s := range c.slots {
		if s.value != nil {
			t.Values[channel] = copied(*s.value)
		}
	}
	if c.as.Format < 4 && c.put.Parent != "" {
		for _, w := range pending(r.writes[place{p.space, c.put.Parent}]) {
			if w.Channel == "__pregel_tasks" {
				t.PendingSends = append(t.PendingSends, w.Value)
			}
		}
	}
	return t
}

func pending(writes []write) []thread.PendingWrite {
	out := []thread.PendingWrite{}
	for _, w := range writes {
		w.Value = copied(w.Value)
		out = append(out, w.PendingWrite)
	}
	return out
}

func (r *reference) List(ctx context.Context, q thread.Query) ([]thread.Tuple, error) {
	filter, err := thread.ParseFilter(q)
	tuples := []thread.Tuple{}
	err = r.locked(ctx, err, func() error {
		var found []thread.Position
		for p, c := range r.checkpoints {
			listed := thread.Position{Thread: p.thread, NS: p.ns, ID: p.id}
			if p.tenant == q.Tenant && (q.Thread == nil || *q.Thread == p.thread) && (q.NS == nil || *q.NS == p.ns) &&
				(q.Checkpoint == "" || q.Checkpoint == p.id) && (q.Before == "" || p.id < q.Before) &&
				(q.After == nil || byPosition(listed, *q.After) > 0) && filter.Match(c.put.Metadata) {
				found = append(found, listed)
			}
		}
		slices.SortFunc(found, byPosition)
		if q.Limit != nil {
			found = found[:min(*q.Limit, len(found))]
		}
		budget := thread.NewBudget(q.MaxBytes)
		for _, p := range found {
			t := r.tuple(at(thread.Ref{Tenant: q.Tenant, Thread: p.Thread, NS: p.NS, Checkpoint: p.ID}))
			if err := budget.Spend(tupleSize(t)); err != nil {
				return err
			}
			tuples = append(tuples, t)
		}
		return nil
	})
	return tuples, err
}

func (r *reference) History(ctx context.Context, ref thread.Ref, channels []string) (map[string]thread.ChannelHistory, error) {
	all := map[string]thread.ChannelHistory{}
	return all, r.locked(ctx, thread.CheckHistory(ref, channels), func() error {
		target, err := r.find(ref)
		if err != nil {
			return err
		}
		for _, channel := range channels {
			h := thread.ChannelHistory{Writes: []thread.PendingWrite{}}
			for _, p := range r.untilHeld(target, channel) {
				replayed := slices.Clone(r.writes[p])
				slices.SortStableFunc(replayed, func(a, b write) int { return strings.Compare(a.path, b.path) })
				replayed = slices.DeleteFunc(replayed, func(w write) bool { return w.Channel != channel })
				h.Writes = append(pending(replayed), h.Writes...)
				if v := r.checkpoints[p].slots[channel].value; v != nil {
					h.Seed = new(copied(*v))
				}
			}
			all[channel] = h
		}
		return nil
	})
}

// untilHeld are the ancestors of a checkpoint, its parent first, up to the first
// that holds a value of the channel.
func (r *reference) untilHeld(p place, channel string) (ancestors []place) {
	visited := map[string]bool{p.id: true}
	for {
		p.id = r.checkpoints[p].put.Parent
		c, ok := r.checkpoints[p]
		if !ok || visited[p.id] {
			return ancestors
		}
		visited[p.id] = true
		ancestors = append(ancestors, p)
		if c.slots[channel].value != nil {
			return ancestors
		}
	}
}

func (r *reference) DeleteThread(ctx context.Context, tenant, id string) error {
	return r.Prune(ctx, tenant, []string{id}, false)
}

func (r *reference) Prune(ctx context.Context, tenant string, threads []string, keepLatest bool) error {
	var invalid error
	for _, id := range threads {
		invalid = cmp.Or(invalid, thread.CheckWritable(tenant, id))
	}
	return r.locked(ctx, invalid, func() error {
		for _, id := range threads {
			of, keep := owner{tenant, id}, map[place]bool{}
			if keepLatest {
				keep = r.needed(of)
			} else {
				delete(r.leases, of)
				r.seen = slices.DeleteFunc(r.seen, func(s seen) bool { return s.owner == of })
			}
			maps.DeleteFunc(r.checkpoints, func(p place, _ checkpoint) bool { return p.owner == of && !keep[p] })
			maps.DeleteFunc(r.writes, func(p place, _ []write) bool {
				return p.owner == of && !keep[p] && (!keepLatest || p.id < r.latest(p.space))
			})
			for p := range keep {
				r.forget(p.space)
			}
		}
		return nil
	})
}

// needed are the newest checkpoints of a thread, and their ancestors back to the
// last snapshot of each delta channel.
func (r *reference) needed(of owner) map[place]bool {
	keep := map[place]bool{}
	for p := range r.checkpoints {
		if p.owner != of || p.id != r.latest(p.space) {
			continue
		}
		keep[p] = true
		for _, channel := range thread.DeltaChannels(r.checkpoints[p].put.Metadata) {
			if r.checkpoints[p].slots[channel].value != nil {
				continue
			}
			for _, ancestor := range r.untilHeld(p, channel) {
				keep[ancestor] = true
			}
		}
	}
	return keep
}

// forget drops the values of a namespace that no checkpoint holds.
func (r *reference) forget(in space) {
	held := map[*thread.Value]bool{}
	for _, c := range r.checkpoints {
		for _, s := range c.slots {
			held[s.value] = true
		}
	}
	r.seen = slices.DeleteFunc(r.seen, func(s seen) bool { return s.space == in && !held[s.value] })
}

func (r *reference) DeleteRuns(ctx context.Context, tenant string, runs []string) error {
	return r.locked(ctx, thread.CheckRuns(tenant, runs), func() error {
		var gone []place
		for p, c := range r.checkpoints {
			if p.tenant == tenant && c.as.HasRun && slices.Contains(runs, c.as.Run) {
				gone = append(gone, p)
			}
		}
		for _, p := range gone {
			delete(r.checkpoints, p)
			delete(r.writes, p)
		}
		for _, p := range gone {
			r.forget(p.space)
		}
		return nil
	})
}

func (r *reference) CopyThread(ctx context.Context, tenant, src, dst string) error {
	return r.locked(ctx, cmp.Or(thread.CheckThread(tenant, src), thread.CheckWritable(tenant, dst)), func() error {
		if src == dst {
			return nil
		}
		from, to := owner{tenant, src}, owner{tenant, dst}
		if err := thread.CheckLease(dst, nil, r.live(to)); err != nil {
			return err
		}
		copies := map[*thread.Value]*thread.Value{nil: nil}
		for _, s := range r.seen {
			if s.owner == from {
				s.owner = to
				original := s.value
				s.value = new(*original)
				copies[original] = r.keep(s)
			}
		}
		for p, c := range maps.Clone(r.checkpoints) {
			if p.owner == from {
				c.slots = maps.Clone(c.slots)
				for channel, s := range c.slots {
					c.slots[channel] = slot{s.version, copies[s.value]}
				}
				r.checkpoints[place{space{to, p.ns}, p.id}] = c
			}
		}
		for p, all := range maps.Clone(r.writes) {
			for _, w := range all {
				if p.owner == from {
					r.write(place{space{to, p.ns}, p.id}, w)
				}
			}
		}
		return nil
	})
}

// live is the lease of a thread, if it has not expired.
func (r *reference) live(of owner) thread.Lease {
	if l := r.leases[of]; time.Now().Before(l.Expires) {
		return l
	}
	return thread.Lease{}
}

func (r *reference) Lease(ctx context.Context, q thread.LeaseRequest) (lease thread.Lease, err error) {
	ttl, err := thread.LeaseTTL(q)
	err = r.locked(ctx, err, func() error {
		of := owner{q.Tenant, q.Thread}
		live := r.live(of)
		r.tokens++
		lease = thread.Lease{Token: cmp.Or(q.Token, r.tokens), Holder: q.Holder, Expires: time.Now().Add(ttl).UTC()}
		switch {
		case q.Token != 0 && (live.Token != q.Token || live.Holder != q.Holder):
			return thread.LeaseEnded(q.Thread, q.Token)
		case q.Token == 0 && live.Token != 0 && live.Holder != q.Holder:
			return thread.LeaseTaken(q.Thread, live)
		}
		r.leases[of] = lease
		return nil
	})
	return lease, err
}

func (r *reference) Release(ctx context.Context, q thread.LeaseRelease) error {
	return r.locked(ctx, thread.CheckWritable(q.Tenant, q.Thread), func() error {
		if of := (owner{q.Tenant, q.Thread}); r.leases[of].Token == q.Token {
			delete(r.leases, of)
		}
		return nil
	})
}

var _ thread.Saver = (*reference)(nil)
