package sqlstore

import (
	"context"
	"maps"
	"slices"

	"github.com/ktrdr/ktrdr/thread"
)

// climbAtOnce is how many ancestors one statement reads.
const climbAtOnce = 64

// selectChain names a checkpoint and its ancestors, itself first. A parent
// that does not exist is named too. The inner SELECT is not written as a join,
// lest a planner turn it round and read the whole thread for each step.
const selectChain query = `WITH RECURSIVE chain (id, parent_id, depth) AS (
		SELECT id, parent_id, 1 FROM checkpoints WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND id = $4
		UNION ALL
		SELECT chain.parent_id, (SELECT p.parent_id FROM checkpoints p
			WHERE p.tenant = $1 AND p.thread_id = $2 AND p.ns = $3 AND p.id = chain.parent_id), chain.depth + 1
		FROM chain WHERE chain.parent_id <> '' AND chain.depth < CAST($5 AS INTEGER))
	SELECT id FROM chain ORDER BY depth`

// climb visits the ancestors of a checkpoint, its parent first, some at a
// time, until visit says stop, the chain ends or it bites its tail.
func climb(ctx context.Context, q queryer, tenant string, from point, visit func(some []point) (more bool, err error)) error {
	seen := map[string]bool{from.id: true}
	for from.parent != "" {
		ids, err := firstColumn(ctx, q, selectChain, tenant, from.thread, from.ns, from.parent, climbAtOnce)
		if err != nil {
			return err
		}
		for i, id := range ids {
			if seen[id] {
				ids = ids[:i]
				break
			}
			seen[id] = true
		}
		some, err := pointsAt(ctx, q, tenant, from.space(), ids)
		if err != nil || len(some) == 0 {
			return err
		}
		more, err := visit(some)
		if err != nil || !more || len(some) < climbAtOnce {
			return err
		}
		from = some[len(some)-1]
	}
	return nil
}

// pointsAt reads checkpoints of a namespace in the order of ids, up to the
// first that does not exist.
func pointsAt(ctx context.Context, q queryer, tenant string, where space, ids []string) (points []point, err error) {
	if len(ids) == 0 {
		return nil, nil
	}
	list, args := padded(4, ids, func(id string) any { return id })
	args = slices.Concat([]any{tenant, where.thread, where.ns}, args)
	found, err := collect(ctx, q, scanPoint, query(pointAt+` AND c.id IN (`+list+`)`), args...)
	if err != nil {
		return nil, err
	}
	byID := make(map[string]point, len(found))
	for _, p := range found {
		byID[p.id] = p
	}
	for _, id := range ids {
		p, ok := byID[id]
		if !ok {
			break
		}
		points = append(points, p)
	}
	return points, nil
}

// History implements thread.Saver.
func (s threads) History(ctx context.Context, ref thread.Ref, channels []string) (map[string]thread.ChannelHistory, error) {
	if err := thread.CheckHistory(ref, channels); err != nil {
		return nil, err
	}
	return inRead(ctx, s.store.read, func(r queryer) (map[string]thread.ChannelHistory, error) { return historyOf(ctx, r, ref, channels) })
}

func historyOf(ctx context.Context, r queryer, ref thread.Ref, channels []string) (map[string]thread.ChannelHistory, error) {
	target, err := findPoint(ctx, r, ref)
	if err != nil {
		return nil, err
	}
	walk := thread.NewHistoryWalk(channels)
	seeds := make(map[*thread.Value]seenValue) // found on the way, read when all are known
	err = climb(ctx, r, ref.Tenant, target, func(some []point) (bool, error) {
		ids := fieldOf(some, func(p point) string { return p.id })
		writes := make(map[at][]thread.PendingWrite)
		if err := readWrites(ctx, r, replayWrites, ref.Tenant, target.space(), ids, writes); err != nil {
			return false, err
		}
		for _, p := range some {
			walk.Visit(writes[at{p.space(), p.id}], func(channel string) *thread.Value { return p.seed(channel, seeds) })
		}
		return len(walk.Missing()) > 0, nil
	})
	if err != nil {
		return nil, err
	}
	where := target.space()
	values, err := valuesOf(ctx, r, ref.Tenant, map[space][]seenValue{where: once(slices.Collect(maps.Values(seeds)))})
	if err != nil {
		return nil, err
	}
	for v, key := range seeds {
		found, ok := values[valueAt{where, key}]
		if !ok {
			return nil, lostValue(key.hash)
		}
		*v = thread.Value{Type: found.Type, Bytes: slices.Clone(found.Bytes)}
	}
	return walk.Histories(), nil
}

// seed returns the value a point holds of a channel, still empty when it must
// be read, and then noted in unread.
func (p point) seed(channel string, unread map[*thread.Value]seenValue) *thread.Value {
	if v, ok := p.inline[channel]; ok {
		return &v
	}
	slot := p.slots[channel]
	if !slot.Held {
		return nil
	}
	v := new(thread.Value)
	unread[v] = seenValue{channel, slot.Version, slot.Value}
	return v
}

// needed returns the ids of the ancestors from which a checkpoint's delta
// channels are rebuilt.
func needed(ctx context.Context, q queryer, tenant string, of point) (map[string]bool, error) {
	keep := map[string]bool{of.id: true}
	open := slices.DeleteFunc(thread.DeltaChannels(of.metadata), func(channel string) bool { return of.slots[channel].Held })
	if len(open) == 0 {
		return keep, nil
	}
	err := climb(ctx, q, tenant, of, func(some []point) (bool, error) {
		for _, p := range some {
			if len(open) == 0 {
				break
			}
			keep[p.id] = true
			open = slices.DeleteFunc(open, func(channel string) bool { return p.slots[channel].Held })
		}
		return len(open) > 0, nil
	})
	return keep, err
}
