package saver

import "github.com/ktrdr/ktrdr"

// What a tuple and each of its values cost besides their bytes, roughly.
const (
	tupleCost = 512
	valueCost = 128
)

// Budget keeps a list from growing beyond what its asker can hold. The zero
// Budget is without end.
type Budget struct {
	most, spent int64
	tuples      int
}

// NewBudget is a budget of so many bytes; 0 means without end.
func NewBudget(most int64) Budget { return Budget{most: most} }

// Take takes one more tuple of so many bytes. CodeTooLarge, with what to do,
// when it does not fit. The first always does: it can be asked for alone, too.
func (b *Budget) Take(size int64) error {
	if b.tuples > 0 && b.Over(size) {
		return ktrdr.Errorf(ktrdr.CodeTooLarge,
			"these checkpoints are over %d MB together, and the first %d fit: ask for them with limit %d, then for the rest with before", b.most>>20, b.tuples, b.tuples)
	}
	b.tuples++
	b.spent += size
	return nil
}

// Bounded says whether the budget has an end.
func (b *Budget) Bounded() bool { return b.most > 0 }

// Over says whether so many bytes more are too many.
func (b *Budget) Over(size int64) bool { return b.Bounded() && b.spent+size > b.most }

// ValueSize is what a value costs once it is read, be it a blob.
func ValueSize(v ktrdr.Value) int64 {
	if kind, blob, ok := v.Blob(); ok {
		return valueCost + int64(len(kind)) + blob.Size
	}
	return valueCost + int64(len(v.Type)+len(v.Bytes))
}

// DocumentSize is what a tuple costs without its values.
func DocumentSize(checkpoint, metadata []byte) int64 {
	return tupleCost + int64(len(checkpoint)+len(metadata))
}

// TupleSize is what a whole tuple costs.
func TupleSize(t ktrdr.ThreadTuple) int64 {
	size := DocumentSize(t.Checkpoint, t.Metadata)
	for _, v := range t.Values {
		size += ValueSize(v)
	}
	for _, w := range t.PendingWrites {
		size += ValueSize(w.Value)
	}
	for _, v := range t.PendingSends {
		size += ValueSize(v)
	}
	return size
}
