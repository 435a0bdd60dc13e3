package savertest

import (
	"cmp"
	"strings"

	"github.com/ktrdr/ktrdr/thread"
)

// byPosition is negative when a is listed before b.
func byPosition(a, b thread.Position) int {
	return cmp.Or(strings.Compare(b.ID, a.ID), strings.Compare(b.Thread, a.Thread), strings.Compare(b.NS, a.NS))
}

// tupleSize is the size of a tuple with all its values.
func tupleSize(t thread.Tuple) int64 {
	size := thread.DocumentSize(t.Checkpoint, t.Metadata)
	for _, v := range t.Values {
		size += thread.ValueSize(v)
	}
	for _, w := range t.PendingWrites {
		size += thread.ValueSize(w.Value)
	}
	for _, v := range t.PendingSends {
		size += thread.ValueSize(v)
	}
	return size
}
