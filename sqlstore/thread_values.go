package sqlstore

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/thread"
)

// seenValue names one value that a namespace has seen of a channel.
type seenValue struct {
	channel, version string
	hash             ktrdr.Hash
}

// valueAt is a seenValue of a namespace.
type valueAt struct {
	space
	seenValue
}

// valuesAtOnce is how many values one statement inserts: there is a text for
// each number of them.
const valuesAtOnce = 16

// insertValues stores what the put brought.
func insertValues(ctx context.Context, t *tx, d thread.ParsedPut, own map[string]ktrdr.Hash) {
	for some := range slices.Chunk(slices.Sorted(maps.Keys(own)), valuesAtOnce) {
		args := make([]any, 0, 3+5*len(some))
		args = append(args, d.Ref.Tenant, d.Ref.Thread, d.Ref.NS)
		for _, channel := range some {
			h, c := own[channel], d.Channels[channel]
			args = append(args, channel, c.Version, h[:], c.Value.Type, notNil(c.Value.Bytes))
		}
		t.later(ctx, insertSeen[len(some)], args...)
	}
}

// insertSeen holds the text for each number of values.
var insertSeen = func() (texts [valuesAtOnce + 1]query) {
	for n := 1; n <= valuesAtOnce; n++ {
		rows := make([]string, n)
		for i := range rows {
			at := func(column int) string { return "$" + strconv.Itoa(4+5*i+column) }
			rows[i] = `($1, $2, $3, ` + at(0) + `, ` + at(1) + `, ` + at(2) + `, ` + at(3) + `, ` + at(4) + `,
				(SELECT COALESCE(MAX(place) + 1, 0) FROM thread_values
					WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = ` + at(0) + ` AND version = ` + at(1) + `))`
		}
		texts[n] = query(`INSERT INTO thread_values (tenant, thread_id, ns, channel, version, hash, type, bytes, place) VALUES ` +
			strings.Join(rows, ", ") + ` ON CONFLICT (tenant, thread_id, ns, channel, version, hash) DO NOTHING`)
	}
	return texts
}()

// notNil keeps an empty value from becoming NULL.
func notNil(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// keysAtOnce is how many keys one statement looks up.
const keysAtOnce = 64

// keyed are texts that look up columns of 1, 2, 4, … values, each by its
// whole key: a list of keys is something that a planner may read otherwise.
func keyed(columns string) (texts [7]query) {
	for i := range texts {
		parts := make([]string, 1<<i)
		for n := range parts {
			parts[n] = fmt.Sprintf(`SELECT CAST(%d AS INTEGER), %s FROM thread_values
				WHERE tenant = $1 AND thread_id = $2 AND ns = $3 AND channel = $%d AND version = $%d AND hash = $%d`, n, columns, 4+3*n, 5+3*n, 6+3*n)
		}
		texts[i] = query(strings.Join(parts, ` UNION ALL `))
	}
	return texts
}

// lookUp reads of values what texts select, for each namespace together. Scan
// reads a row whose first column is n. Values that are not there are not among
// what it returns.
func lookUp[T any](ctx context.Context, q queryer, texts *[7]query, tenant string, wanted map[space][]seenValue,
	scan func(row scanner, n *int) (T, error),
) (map[valueAt]T, error) {
	found := make(map[valueAt]T)
	for where, keys := range wanted {
		for some := range slices.Chunk(keys, keysAtOnce) {
			size := bits.Len(uint(len(some) - 1))
			args := make([]any, 3, 3+3<<size)
			args[0], args[1], args[2] = tenant, where.thread, where.ns
			for _, k := range some {
				args = append(args, k.channel, k.version, k.hash[:])
			}
			for len(args) < cap(args) { // no channel has this name
				args = append(args, "", "", []byte{})
			}
			err := eachRow(ctx, q, func(row scanner) error {
				var n int
				one, err := scan(row, &n)
				found[valueAt{where, some[n]}] = one
				return err
			}, texts[size], args...)
			if err != nil {
				return nil, err
			}
		}
	}
	return found, nil
}

var selectValues, selectValueSizes = keyed(`type, bytes`), keyed(`type, LENGTH(bytes)`)

// valuesOf reads values and proves them. Those that are lost are not among
// what it returns.
func valuesOf(ctx context.Context, q queryer, tenant string, wanted map[space][]seenValue) (map[valueAt]thread.Value, error) {
	found, err := lookUp(ctx, q, &selectValues, tenant, wanted, func(row scanner, n *int) (v thread.Value, err error) {
		err = row.Scan(n, &v.Type, &v.Bytes)
		v.Bytes = notNil(v.Bytes)
		return v, err
	})
	maps.DeleteFunc(found, func(k valueAt, v thread.Value) bool { return contentHash(v) != k.hash })
	return found, err
}

// valueSizes reads what values cost.
func valueSizes(ctx context.Context, q queryer, tenant string, wanted map[space][]seenValue) (map[valueAt]int64, error) {
	return lookUp(ctx, q, &selectValueSizes, tenant, wanted, func(row scanner, n *int) (int64, error) {
		var kind string
		var length int64
		err := row.Scan(n, &kind, &length)
		return sizeOf(kind, length), err
	})
}

// lostValue is what is said of a value that valuesOf did not find.
func lostValue(h ktrdr.Hash) error {
	return ktrdr.Errorf(ktrdr.CodeCorrupt, "a stored value is missing or does not match its hash %s", h)
}

// once sorts keys and drops those that are there again.
func once(keys []seenValue) []seenValue {
	slices.SortFunc(keys, func(a, b seenValue) int {
		return cmp.Or(strings.Compare(a.channel, b.channel), strings.Compare(a.version, b.version), bytes.Compare(a.hash[:], b.hash[:]))
	})
	return slices.Compact(keys)
}
