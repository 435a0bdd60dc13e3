package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/saver"
)

// pointColumns is what scanPoint reads, in its order.
const pointColumns = `c.thread_id, c.ns, c.id, c.parent_id, c.format, c.slots, c.metadata, c.checkpoint,
	c.put_at, c.checkpoint_type, c.epoch, c.seq, c.step, c.artifacts, c.state_blob, c.state`

// point is one checkpoint as a saver sees it, before its values and writes.
type point struct {
	thread, ns, id, parent string
	format                 int
	slots                  slots
	inline                 map[string]ktrdr.Value // of an operation
	metadata, checkpoint   json.RawMessage
}

func scanPoint(row scanner) (point, error) {
	var (
		p                                                    point
		format, epoch, seq, step                             sql.NullInt64
		putAt                                                int64
		held, metadata, doc, kind, artifacts, blobbed, state sql.NullString
	)
	err := row.Scan(&p.thread, &p.ns, &p.id, &p.parent, &format, &held, &metadata, &doc,
		&putAt, &kind, &epoch, &seq, &step, &artifacts, &blobbed, &state)
	if err != nil {
		return point{}, err
	}
	p.format, p.metadata, p.checkpoint = int(format.Int64), rawJSON(metadata), rawJSON(doc)
	if !kind.Valid {
		p.slots, err = decodeSlots(held.String)
		return p, err
	}
	info := ktrdr.CheckpointInfo{
		ID: p.id, Type: ktrdr.CheckpointType(kind.String), Epoch: ktrdr.Epoch(epoch.Int64), Seq: seq.Int64,
		Step: step.Int64, CreatedAt: instant(putAt),
	}
	err = p.ofOperation(info, rawJSON(artifacts), rawJSON(blobbed), rawJSON(state))
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
		p.inline = map[string]ktrdr.Value{operationChannel: {Type: "blob", Bytes: blobbed}}
	case state != nil:
		p.inline = map[string]ktrdr.Value{operationChannel: {Type: "json", Bytes: state}}
	}
	return err
}

const (
	pointAt           = `SELECT ` + pointColumns + ` FROM checkpoints c WHERE c.tenant = $1 AND c.thread_id = $2 AND c.ns = $3`
	selectPoint query = pointAt + ` AND c.id = $4`
	latestPoint query = pointAt + ` ORDER BY c.id DESC LIMIT 1`
)

// findPoint reads the checkpoint that ref means; CodeNotFound.
func findPoint(ctx context.Context, q queryer, ref ktrdr.ThreadRef) (point, error) {
	text, args := latestPoint, []any{ref.Tenant, ref.Thread, ref.NS}
	if ref.Checkpoint != "" {
		text, args = selectPoint, append(args, ref.Checkpoint)
	}
	p, err := scanPoint(q.row(ctx, text, args...))
	if errors.Is(err, sql.ErrNoRows) {
		return point{}, saver.NotFound(ref)
	}
	return p, err
}

// GetTuple implements ktrdr.Saver.
func (s threads) GetTuple(ctx context.Context, ref ktrdr.ThreadRef) (ktrdr.ThreadTuple, error) {
	if err := saver.CheckRef(ref); err != nil {
		return ktrdr.ThreadTuple{}, err
	}
	var tuples []ktrdr.ThreadTuple
	err := s.read(ctx, func(r queryer) error {
		p, err := findPoint(ctx, r, ref)
		if err != nil {
			return err
		}
		tuples, err = tuplesOf(ctx, r, ref.Tenant, []point{p})
		return err
	})
	if err != nil {
		return ktrdr.ThreadTuple{}, err
	}
	return tuples[0], nil
}

// listPage is how many rows a list reads at a time.
const listPage = 100

// List implements ktrdr.Saver. A filter is judged here, not in SQL: the two
// databases do not agree on when JSON values are equal. What does not match is
// not kept.
func (s threads) List(ctx context.Context, q ktrdr.ThreadQuery) ([]ktrdr.ThreadTuple, error) {
	filter, err := saver.ReadQuery(q)
	if err != nil {
		return nil, err
	}
	tuples := []ktrdr.ThreadTuple{}
	if q.Limit != nil && *q.Limit == 0 {
		return tuples, nil
	}
	err = s.read(ctx, func(r queryer) error {
		tuples = tuples[:0]
		var after *point
		for {
			page, matching, err := nextPoints(ctx, r, q, filter, after)
			if err != nil {
				return err
			}
			if q.Limit != nil {
				matching = matching[:min(len(matching), *q.Limit-len(tuples))]
			}
			more, err := tuplesOf(ctx, r, q.Tenant, matching)
			if err != nil {
				return err
			}
			tuples = append(tuples, more...)
			if len(page) < listPage || q.Limit != nil && len(tuples) == *q.Limit {
				return nil
			}
			after = &page[len(page)-1]
		}
	})
	return tuples, err
}

// nextPoints reads the page after a row, or the first, and what of it matches.
func nextPoints(ctx context.Context, r queryer, q ktrdr.ThreadQuery, filter saver.Filter, after *point) (page, matching []point, err error) {
	text, args := pointsQuery(q, filter, after)
	rows, err := r.rows(ctx, text, args...)
	if page, err = gather(rows, err, scanPoint); err != nil {
		return nil, nil, err
	}
	for _, p := range page {
		if filter.Match(p.metadata) {
			matching = append(matching, p)
		}
	}
	return page, matching, nil
}

// pointsQuery writes the statement for one page. Values are arguments; of the
// query only its shape gets into the text.
func pointsQuery(q ktrdr.ThreadQuery, filter saver.Filter, after *point) (query, []any) {
	args := []any{q.Tenant}
	arg := func(v any) string {
		args = append(args, v)
		return "$" + strconv.Itoa(len(args))
	}
	where := []string{"c.tenant = $1"}
	if q.Thread != nil {
		where = append(where, "c.thread_id = "+arg(*q.Thread))
	} else {
		where = append(where, "c.put_at > 0") // the index's own words
	}
	if q.NS != nil {
		where = append(where, "c.ns = "+arg(*q.NS))
	}
	if q.Checkpoint != "" {
		where = append(where, "c.id = "+arg(q.Checkpoint))
	}
	if q.Before != "" {
		where = append(where, "c.id < "+arg(q.Before))
	}
	if run, ok := filter.Run(); ok {
		where = append(where, "c.run_id IS NOT NULL AND c.run_id = "+arg(run))
	}
	if after != nil {
		where = append(where, "(c.id, c.thread_id, c.ns) < ("+arg(after.id)+", "+arg(after.thread)+", "+arg(after.ns)+")")
	}
	size := listPage
	if q.Limit != nil && len(filter) == 0 {
		size = min(size, *q.Limit)
	}
	text := "SELECT " + pointColumns + " FROM checkpoints c WHERE " + strings.Join(where, " AND ") +
		" ORDER BY c.id DESC, c.thread_id DESC, c.ns DESC LIMIT " + arg(size)
	return query(text), args
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

// tuplesOf adds values and writes to points: a few statements for all of them.
func tuplesOf(ctx context.Context, q queryer, tenant string, points []point) ([]ktrdr.ThreadTuple, error) {
	var hashes []ktrdr.Hash
	written := make(map[space][]string)
	for _, p := range points {
		for _, slot := range p.slots {
			if slot.Held {
				hashes = append(hashes, slot.Value)
			}
		}
		written[p.space()] = append(written[p.space()], p.id)
		if saver.WantsSends(p.format, p.parent) {
			written[p.space()] = append(written[p.space()], p.parent)
		}
	}
	values, err := contentsOf(ctx, q, hashes)
	if err != nil {
		return nil, err
	}
	writes := make(map[at][]ktrdr.PendingWrite)
	for where, ids := range written {
		if err := readWrites(ctx, q, selectWrites, tenant, where, ids, writes); err != nil {
			return nil, err
		}
	}
	tuples := make([]ktrdr.ThreadTuple, 0, len(points))
	for _, p := range points {
		tuples = append(tuples, p.tuple(values, writes))
	}
	return tuples, nil
}

func (p point) tuple(values map[ktrdr.Hash]ktrdr.Value, writes map[at][]ktrdr.PendingWrite) ktrdr.ThreadTuple {
	t := ktrdr.ThreadTuple{
		Thread: p.thread, NS: p.ns, ID: p.id, Parent: p.parent, Checkpoint: p.checkpoint, Metadata: p.metadata,
		Values: make(map[string]ktrdr.Value, len(p.slots)+len(p.inline)), PendingWrites: []ktrdr.PendingWrite{},
	}
	maps.Copy(t.Values, p.inline)
	for channel, slot := range p.slots {
		if slot.Held {
			v := values[slot.Value]
			t.Values[channel] = ktrdr.Value{Type: v.Type, Bytes: slices.Clone(v.Bytes)} // two tuples may share it
		}
	}
	t.PendingWrites = append(t.PendingWrites, writes[at{p.space(), p.id}]...)
	if saver.WantsSends(p.format, p.parent) {
		for _, w := range writes[at{p.space(), p.parent}] {
			if w.Channel == saver.SendsChannel {
				t.PendingSends = append(t.PendingSends, w.Value)
			}
		}
	}
	return t
}

// keysAtOnce is how many keys one statement looks up.
const keysAtOnce = 64

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

// contentsOf reads values by their hashes and proves them.
func contentsOf(ctx context.Context, q queryer, hashes []ktrdr.Hash) (map[ktrdr.Hash]ktrdr.Value, error) {
	hashes = slices.SortedFunc(slices.Values(hashes), func(a, b ktrdr.Hash) int { return cmp.Compare(a.String(), b.String()) })
	hashes = slices.Compact(hashes)
	found := make(map[ktrdr.Hash]ktrdr.Value, len(hashes))
	for some := range slices.Chunk(hashes, keysAtOnce) {
		list, args := padded(1, some, func(h ktrdr.Hash) any { return h[:] })
		rows, err := q.rows(ctx, query(`SELECT type, bytes FROM contents WHERE hash IN (`+list+`)`), args...)
		values, err := gather(rows, err, func(row scanner) (v ktrdr.Value, err error) {
			err = row.Scan(&v.Type, &v.Bytes)
			return v, err
		})
		if err != nil {
			return nil, err
		}
		for _, v := range values {
			found[contentHash(v)] = ktrdr.Value{Type: v.Type, Bytes: notNil(v.Bytes)}
		}
		for _, h := range some {
			if _, ok := found[h]; !ok {
				return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "a stored value is missing or does not match its hash %s", h)
			}
		}
	}
	return found, nil
}

// The orders in which writes are read: as they are shown, and as a history
// replays them.
const (
	writesAt     = `SELECT checkpoint_id, task, channel, type, bytes FROM checkpoint_writes WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND checkpoint_id IN (%s) ORDER BY `
	selectWrites = writesAt + `task, idx`
	replayWrites = writesAt + `path, task, idx`
)

// readWrites adds the pending writes of some checkpoints of a namespace.
func readWrites(ctx context.Context, q queryer, text, tenant string, where space, ids []string, into map[at][]ktrdr.PendingWrite) error {
	for some := range slices.Chunk(distinct(ids), keysAtOnce) {
		list, args := padded(4, some, func(id string) any { return id })
		rows, err := q.rows(ctx, query(fmt.Sprintf(text, list)), slices.Concat([]any{tenant, where.thread, where.ns}, args)...)
		type one struct {
			id string
			ktrdr.PendingWrite
		}
		writes, err := gather(rows, err, func(row scanner) (w one, err error) {
			err = row.Scan(&w.id, &w.Task, &w.Channel, &w.Value.Type, &w.Value.Bytes)
			return w, err
		})
		if err != nil {
			return err
		}
		for _, w := range writes {
			w.Value.Bytes = notNil(w.Value.Bytes)
			into[at{where, w.id}] = append(into[at{where, w.id}], w.PendingWrite)
		}
	}
	return nil
}
