package thread

import "github.com/ktrdr/ktrdr"

// Approximate bytes of a tuple and of each of its values besides their content.
const (
	tupleCost = 512
	valueCost = 128
)

// Budget limits the size of a list. The zero Budget is unlimited.
type Budget struct {
	most, spent int64
	tuples      int
}

// NewBudget returns a budget in bytes; 0 means unlimited.
func NewBudget(most int64) Budget { return Budget{most: most} }

// Spend adds a tuple of size bytes. CodeTooLarge when it does not fit. The first
// tuple always fits: it could be asked for alone.
func (b *Budget) Spend(size int64) error {
	if b.tuples > 0 && b.Exceeds(size) {
		return ktrdr.Errorf(ktrdr.CodeTooLarge,
			"these checkpoints are over %d MB together, and the first %d fit: ask for them with limit %d, then for the rest with before",
			b.most>>20, b.tuples, b.tuples)
	}
	b.tuples++
	b.spent += size
	return nil
}

// Bounded says whether there is a limit.
func (b *Budget) Bounded() bool { return b.most > 0 }

// Exceeds says whether size more bytes are over the limit.
func (b *Budget) Exceeds(size int64) bool { return b.Bounded() && b.spent+size > b.most }

// ValueSize is the size of a value with its bytes, also when they are in a blob.
func ValueSize(v Value) int64 {
	if kind, blob, ok := v.Blob(); ok {
		return valueCost + int64(len(kind)) + blob.Size
	}
	return valueCost + int64(len(v.Type)+len(v.Bytes))
}

// DocumentSize is the size of a tuple without its values.
func DocumentSize(checkpoint, metadata []byte) int64 {
	return tupleCost + int64(len(checkpoint)+len(metadata))
}
