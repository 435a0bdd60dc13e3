package sqlstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/ktrdr/ktrdr/thread"
)

// needs is what points lack to be tuples: values and writes, by where they are.
func needs(points []point) (values map[space][]seenValue, written map[space][]string) {
	values, written = make(map[space][]seenValue), make(map[space][]string)
	for _, p := range points {
		where := p.space()
		for channel, slot := range p.slots {
			if slot.Held {
				values[where] = append(values[where], seenValue{channel, slot.Version, slot.Value})
			}
		}
		written[where] = append(written[where], p.id)
		if thread.NeedsSends(p.format, p.parent) {
			written[where] = append(written[where], p.parent)
		}
	}
	for where, keys := range values {
		values[where] = once(keys)
	}
	return values, written
}

// ownSize is what a point costs before its values and writes.
func (p point) ownSize() int64 {
	size := thread.DocumentSize(p.checkpoint, p.metadata)
	for _, v := range p.inline {
		size += thread.ValueSize(v)
	}
	return size
}

// afford takes points from the budget before anything is read for them.
func afford(ctx context.Context, q queryer, tenant string, points []point, b *thread.Budget) error {
	if !b.Bounded() {
		return nil
	}
	wanted, written := needs(points)
	values, err := valueSizes(ctx, q, tenant, wanted)
	if err != nil {
		return err
	}
	writes, sends := make(map[at]int64), make(map[at]int64)
	for where, ids := range written {
		if err := writeSizes(ctx, q, tenant, where, ids, writes, sends); err != nil {
			return err
		}
	}
	for _, p := range points {
		size := p.ownSize() + writes[at{p.space(), p.id}]
		for channel, slot := range p.slots {
			if slot.Held {
				size += values[p.valueAt(channel, slot.Version, slot.Value)]
			}
		}
		if thread.NeedsSends(p.format, p.parent) {
			size += sends[at{p.space(), p.parent}]
		}
		if err := b.Spend(size); err != nil {
			return err
		}
	}
	return nil
}

// sizeOf is the size of a value of which only the type, and of an ordinary one
// the length, was read.
func sizeOf(kind string, length int64) int64 {
	size := thread.ValueSize(thread.Value{Type: kind})
	if _, _, isBlob := (thread.Value{Type: kind}).Blob(); !isBlob {
		size += length
	}
	return size
}

const sizesOfWrites = `SELECT checkpoint_id, channel, type, LENGTH(bytes) FROM checkpoint_writes
	WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id IN (%s)`

// writeSizes adds what the pending writes of some checkpoints cost, and of them
// those that are sends.
func writeSizes(ctx context.Context, q queryer, tenant string, where space, ids []string, writes, sends map[at]int64) error {
	for some := range slices.Chunk(distinct(ids), keysAtOnce) {
		list, args := padded(4, some, func(id string) any { return id })
		err := eachRow(ctx, q, func(row scanner) error {
			var id, channel, kind string
			var length int64
			err := row.Scan(&id, &channel, &kind, &length)
			writes[at{where, id}] += sizeOf(kind, length)
			if channel == thread.SendsChannel {
				sends[at{where, id}] += sizeOf(kind, length)
			}
			return err
		}, query(fmt.Sprintf(sizesOfWrites, list)), slices.Concat([]any{tenant, where.thread, where.ns}, args)...)
		if err != nil {
			return err
		}
	}
	return nil
}
