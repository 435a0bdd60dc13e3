package backtest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// A columns file holds a result, a state or a portfolio: columns of numbers, little-endian,
// in an order that its kind fixes, so that equal contents are equal bytes.
//
//	8   "ktrdrbt" and the version, 1
//	4   kind: 1 result, 2 state, 3 portfolio
//	4   number of columns
//	    for each column
//	16      name, padded with zeros
//	4       type: 1 int8, 2 int32, 3 int64, 4 float32, 5 float64, 6 bytes of JSON
//	4       zero
//	8       number of values
//	        the values, padded with zeros to a multiple of 8
//	32  sha256 of all before
//
// Every column begins at a multiple of 8, so that a reader may map it.
const (
	magic = "ktrdrbt\x01"

	kindResult    = 1
	kindState     = 2
	kindPortfolio = 3

	nameSize   = 16
	fileHead   = len(magic) + 4 + 4
	columnHead = nameSize + 4 + 4 + 8
	align      = 8
)

// ErrCorrupt says that bytes are not what Encode or MarshalBinary wrote.
var ErrCorrupt = errors.New("not a backtest file, or a damaged one")

func corrupt(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrCorrupt, fmt.Sprintf(format, args...))
}

type value interface {
	int8 | int32 | int64 | float32 | float64 | uint8
}

func typeOf[T value]() (code uint32, size int) {
	switch any(*new(T)).(type) {
	case int8:
		return 1, 1
	case int32:
		return 2, 4
	case int64:
		return 3, 8
	case float32:
		return 4, 4
	case float64:
		return 5, 8
	default:
		return 6, 1
	}
}

// writer builds a columns file. Its mistakes are the programmer's.
type writer struct {
	b       []byte
	columns uint32
}

func newWriter(kind uint32, size int) *writer {
	w := &writer{b: make([]byte, 0, size)}
	w.b = append(w.b, magic...)
	w.b = binary.LittleEndian.AppendUint32(w.b, kind)
	w.b = binary.LittleEndian.AppendUint32(w.b, 0)
	return w
}

func put[T value](w *writer, name string, values []T) {
	code, _ := typeOf[T]()
	var padded [nameSize]byte
	copy(padded[:], name)
	w.b = append(w.b, padded[:]...)
	w.b = binary.LittleEndian.AppendUint32(w.b, code)
	w.b = binary.LittleEndian.AppendUint32(w.b, 0)
	w.b = binary.LittleEndian.AppendUint64(w.b, uint64(len(values)))
	w.b, _ = binary.Append(w.b, binary.LittleEndian, values) // slices of numbers cannot fail
	for len(w.b)%align != 0 {
		w.b = append(w.b, 0)
	}
	w.columns++
}

func (w *writer) finish() []byte {
	binary.LittleEndian.PutUint32(w.b[len(magic)+4:], w.columns)
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:]...)
}

// reader takes the columns out again in the same order. The first error stays, and later columns are empty.
type reader struct {
	b       []byte // what is left
	columns uint32 // how many
	err     error
}

// newReader checks all that can be checked before the columns: a file that
// passes is what some writer wrote, whole.
func newReader(b []byte, kind uint32) *reader {
	if len(b) < fileHead+sha256.Size || string(b[:len(magic)]) != magic {
		return &reader{err: corrupt("it does not begin with %q", magic)}
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return &reader{err: corrupt("its digest does not fit its contents")}
	}
	if k := binary.LittleEndian.Uint32(body[len(magic):]); k != kind {
		return &reader{err: corrupt("it is of kind %d where %d is wanted", k, kind)}
	}
	return &reader{b: body[fileHead:], columns: binary.LittleEndian.Uint32(body[len(magic)+4:])}
}

// take reads the next column, which must have this name and this type. It
// allocates no more than the bytes that are there.
func take[T value](r *reader, name string) []T {
	if r.err != nil {
		return nil
	}
	code, size := typeOf[T]()
	if r.columns == 0 || len(r.b) < columnHead {
		r.err = corrupt("column %s is missing", name)
		return nil
	}
	var padded [nameSize]byte
	copy(padded[:], name)
	count := binary.LittleEndian.Uint64(r.b[nameSize+8:])
	if !bytes.Equal(r.b[:nameSize], padded[:]) ||
		binary.LittleEndian.Uint32(r.b[nameSize:]) != code || binary.LittleEndian.Uint32(r.b[nameSize+4:]) != 0 {
		r.err = corrupt("column %q stands where %s is wanted", bytes.TrimRight(r.b[:nameSize], "\x00"), name)
		return nil
	}
	r.b = r.b[columnHead:]
	if count > uint64(len(r.b)/size) {
		r.err = corrupt("column %s is cut off", name)
		return nil
	}
	used := int(count) * size
	taken := (used + align - 1) / align * align
	if taken > len(r.b) || len(bytes.Trim(r.b[used:taken], "\x00")) > 0 {
		r.err = corrupt("column %s is not padded with zeros", name)
		return nil
	}
	values := make([]T, count)
	if _, err := binary.Decode(r.b[:used], binary.LittleEndian, values); err != nil {
		r.err = corrupt("column %s: %v", name, err)
	}
	r.b = r.b[taken:]
	r.columns--
	return values
}

// done says what went wrong, or that something is left over.
func (r *reader) done() error {
	if r.err == nil && (r.columns != 0 || len(r.b) != 0) {
		r.err = corrupt("%d columns and %d bytes are left over", r.columns, len(r.b))
	}
	return r.err
}
