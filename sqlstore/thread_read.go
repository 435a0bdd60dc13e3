package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// pointColumns is what scanPoint reads, in its order.
const pointColumns = `c.thread_id, c.ns, c.id, c.parent_id, c.format, c.slots, c.metadata, c.checkpoint,
	c.put_at, c.checkpoint_type, c.epoch, c.seq, c.step, c.artifacts, c.state_blob, c.state`

// foreignColumns is what scanForeign reads, in its order.
const foreignColumns = `c.id, c.parent_id, c.format, c.slots, c.metadata, c.checkpoint, EXISTS (SELECT 1 FROM checkpoint_writes w
	WHERE w.tenant = c.tenant AND w.thread_id = c.thread_id AND w.ns = c.ns AND w.checkpoint_id = c.id)`

// point is one checkpoint as a saver sees it, before its values and writes.
type point struct {
	thread, ns, id, parent string
	format                 int
	slots                  slots
	inline                 map[string]thread.Value // of an operation
	metadata, checkpoint   json.RawMessage
	written                bool // it may have pending writes
}

func scanPoint(row scanner) (point, error) {
	var (
		p                         = point{written: true}
		format                    nullInt
		slots                     nullText
		info                      ktrdr.CheckpointInfo
		artifacts, blobbed, state json.RawMessage
	)
	err := row.Scan(&p.thread, &p.ns, &p.id, &p.parent, &format, &slots, (*document)(&p.metadata), (*document)(&p.checkpoint),
		(*moment)(&info.CreatedAt), (*nullText)(&info.Type), (*nullInt)(&info.Epoch), (*nullInt)(&info.Seq), (*nullInt)(&info.Step),
		(*document)(&artifacts), (*document)(&blobbed), (*document)(&state))
	if err != nil {
		return point{}, err
	}
	p.format, info.ID = int(format), p.id
	if info.Type == "" {
		p.slots, err = decodeSlots(string(slots))
		return p, err
	}
	err = p.ofOperation(info, artifacts, blobbed, state)
	return p, err
}

// scanForeign reads a checkpoint that is no operation's, all but where it is.
func scanForeign(row scanner) (p point, err error) {
	var slots string
	if err := row.Scan(&p.id, &p.parent, &p.format, &slots, (*document)(&p.metadata), (*[]byte)(&p.checkpoint), &p.written); err != nil {
		return point{}, err
	}
	p.slots, err = decodeSlots(slots)
	return p, err
}

// The format in which an operation's checkpoint is shown, and its one channel.
const (
	operationFormat  = 4
	operationChannel = "state"
)

// ofOperation shows an operation's checkpoint as a graph's: one channel, whose
// value is the state, or the name of its blob when it is too large for a row.
func (p *point) ofOperation(info ktrdr.CheckpointInfo, artifacts, blobbed, state json.RawMessage) (err error) {
	p.format = operationFormat
	p.checkpoint, err = json.Marshal(struct {
		V        int                       `json:"v"`
		ID       string                    `json:"id"`
		TS       time.Time                 `json:"ts"`
		Versions map[string]int64          `json:"channel_versions"`
		Seen     map[string]map[string]int `json:"versions_seen"`
	}{operationFormat, info.ID, info.CreatedAt, map[string]int64{operationChannel: info.Seq}, map[string]map[string]int{}})
	if err != nil {
		return err
	}
	if artifacts == nil {
		artifacts = json.RawMessage("[]")
	}
	p.metadata, err = json.Marshal(struct {
		Source    string               `json:"source"`
		Step      int64                `json:"step"`
		Type      ktrdr.CheckpointType `json:"checkpoint_type"`
		Epoch     ktrdr.Epoch          `json:"epoch"`
		Seq       int64                `json:"seq"`
		Artifacts json.RawMessage      `json:"artifacts"`
	}{"loop", info.Step, info.Type, info.Epoch, info.Seq, artifacts})
	switch {
	case blobbed != nil:
		p.inline = map[string]thread.Value{operationChannel: {Type: "blob", Bytes: blobbed}}
	case state != nil:
		p.inline = map[string]thread.Value{operationChannel: {Type: "json", Bytes: state}}
	}
	return err
}

// space names a namespace of one tenant's thread, and at a checkpoint there.
type (
	space struct{ thread, ns string }
	at    struct {
		space
		id string
	}
)

func (p point) space() space { return space{p.thread, p.ns} }

func (p point) valueAt(channel, version string, hash ktrdr.Hash) valueAt {
	return valueAt{p.space(), seenValue{channel, version, hash}}
}

// tuplesOf adds values and writes to points: a few statements for all of them.
func tuplesOf(ctx context.Context, q queryer, tenant string, points []point) ([]thread.Tuple, error) {
	wanted, written := needs(points)
	values, err := valuesOf(ctx, q, tenant, wanted)
	if err != nil {
		return nil, err
	}
	writes := make(map[at][]thread.PendingWrite)
	for where, ids := range written {
		if err := readWrites(ctx, q, selectWrites, tenant, where, ids, writes); err != nil {
			return nil, err
		}
	}
	tuples := make([]thread.Tuple, 0, len(points))
	lent := make(map[valueAt]bool, len(values))
	for _, p := range points {
		tuples = append(tuples, p.tuple(values, lent, writes))
	}
	return tuples, nil
}

// tuple joins what was read. Each value that it takes is lent: the next tuple that
// takes it gets a copy.
func (p point) tuple(values map[valueAt]thread.Value, lent map[valueAt]bool, writes map[at][]thread.PendingWrite) thread.Tuple {
	t := thread.Tuple{
		Thread: p.thread, NS: p.ns, ID: p.id, Parent: p.parent, Checkpoint: p.checkpoint, Metadata: p.metadata,
		Values: make(map[string]thread.Value, len(p.slots)+len(p.inline)), PendingWrites: []thread.PendingWrite{},
	}
	maps.Copy(t.Values, p.inline)
	for channel, slot := range p.slots {
		if slot.Held {
			key := p.valueAt(channel, slot.Version, slot.Value)
			v, ok := values[key]
			if !ok {
				return t.WithDamage(lostValue(slot.Value))
			}
			if lent[key] {
				v.Bytes = slices.Clone(v.Bytes)
			}
			lent[key] = true
			t.Values[channel] = v
		}
	}
	t.PendingWrites = append(t.PendingWrites, writes[at{p.space(), p.id}]...)
	if thread.NeedsSends(p.format, p.parent) {
		for _, w := range writes[at{p.space(), p.parent}] {
			if w.Channel == thread.SendsChannel {
				t.PendingSends = append(t.PendingSends, w.Value)
			}
		}
	}
	return t
}

// padded writes "$from, …" for a list of arguments, repeating the last up to a
// power of two, so that a few texts serve every length.
func padded[T any](from int, all []T, arg func(T) any) (string, []any) {
	n := 1
	for n < len(all) {
		n *= 2
	}
	args := make([]any, n)
	for i := range args {
		args[i] = arg(all[min(i, len(all)-1)])
	}
	return placeholders(from, n), args
}

// The orders in which writes are read: as they are shown, and as a history
// replays them.
const (
	writesAt = `SELECT checkpoint_id, task, channel, type, bytes FROM checkpoint_writes WHERE tenant = $1 AND thread_id = $2 AND ns = $3
		AND checkpoint_id IN (%s) ORDER BY `
	selectWrites = writesAt + `task, idx`
	replayWrites = writesAt + `path, task, idx`
)

// readWrites adds the pending writes of some checkpoints of a namespace.
func readWrites(ctx context.Context, q queryer, text, tenant string, where space, ids []string, into map[at][]thread.PendingWrite) error {
	for some := range slices.Chunk(distinct(ids), keysAtOnce) {
		list, args := padded(4, some, func(id string) any { return id })
		err := eachRow(ctx, q, func(row scanner) error {
			var w thread.PendingWrite
			key := at{space: where}
			err := row.Scan(&key.id, &w.Task, &w.Channel, &w.Value.Type, &w.Value.Bytes)
			w.Value.Bytes = notNil(w.Value.Bytes)
			into[key] = append(into[key], w)
			return err
		}, query(fmt.Sprintf(text, list)), slices.Concat([]any{tenant, where.thread, where.ns}, args)...)
		if err != nil {
			return err
		}
	}
	return nil
}
