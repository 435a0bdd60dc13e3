package train

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// ErrCorrupt says that bytes are not what MarshalBinary wrote.
var ErrCorrupt = errors.New("not a stored training, or a damaged one")

// wireMagic begins a stored run. Numbers are little-endian; a list or a text
// begins with its length; the last 32 bytes are the sha256 of all before.
const wireMagic = "ktrdrrn\x01"

// sink builds a stored run.
type sink struct{ b []byte }

func newSink() *sink { return &sink{b: []byte(wireMagic)} }

func (w *sink) count(n int)       { w.b = binary.LittleEndian.AppendUint64(w.b, uint64(n)) }
func (w *sink) word(n uint64)     { w.b = binary.LittleEndian.AppendUint64(w.b, n) }
func (w *sink) number(x float64)  { w.word(math.Float64bits(x)) }
func (w *sink) bytes(b []byte)    { w.count(len(b)); w.b = append(w.b, b...) }
func (w *sink) digest(d [32]byte) { w.b = append(w.b, d[:]...) }

func (w *sink) flag(on bool) {
	if on {
		w.word(1)
	} else {
		w.word(0)
	}
}

func (w *sink) numbers(x []float64) {
	w.count(len(x))
	for _, v := range x {
		w.number(v)
	}
}

func (w *sink) singles(x []float32) {
	w.count(len(x))
	for _, v := range x {
		w.b = binary.LittleEndian.AppendUint32(w.b, math.Float32bits(v))
	}
}

func (w *sink) finish() []byte {
	sum := sha256.Sum256(w.b)
	return append(w.b, sum[:]...)
}

// source takes a stored run apart in the same order. The first error stays, and
// what is read after it is zero. It allocates no more than there are bytes.
type source struct {
	b   []byte
	err error
}

func newSource(b []byte) *source {
	if len(b) < len(wireMagic)+sha256.Size || string(b[:len(wireMagic)]) != wireMagic {
		return &source{err: fmt.Errorf("%w: it does not begin as one", ErrCorrupt)}
	}
	body, sum := b[:len(b)-sha256.Size], b[len(b)-sha256.Size:]
	if got := sha256.Sum256(body); !bytes.Equal(got[:], sum) {
		return &source{err: fmt.Errorf("%w: its digest does not fit its contents", ErrCorrupt)}
	}
	return &source{b: body[len(wireMagic):]}
}

func (r *source) fail(what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", ErrCorrupt, what)
	}
	r.b = nil
}

func (r *source) next(n int) []byte {
	if n > len(r.b) {
		r.fail("it ends too soon")
		return nil
	}
	b := r.b[:n]
	r.b = r.b[n:]
	return b
}

func (r *source) word() uint64 {
	b := r.next(8)
	if b == nil {
		return 0
	}
	return binary.LittleEndian.Uint64(b)
}

// count reads a number that is not negative and fits the numbers of this program.
func (r *source) count() int {
	n := r.word()
	if n > math.MaxInt32 {
		r.fail("a count in it is too large")
		return 0
	}
	return int(n)
}

func (r *source) number() float64 { return math.Float64frombits(r.word()) }

func (r *source) flag() bool {
	n := r.word()
	if n > 1 {
		r.fail("a flag in it is neither on nor off")
	}
	return n == 1
}

func (r *source) bytes() []byte { return r.next(r.count()) }

func (r *source) digest() (d [32]byte) {
	copy(d[:], r.next(len(d)))
	return d
}

func (r *source) numbers() []float64 {
	n := r.count()
	if n > len(r.b)/8 {
		r.fail("a list in it is cut off")
		return nil
	}
	var x []float64
	for range n {
		x = append(x, r.number())
	}
	return x
}

func (r *source) singles() []float32 {
	n := r.count()
	if n > len(r.b)/4 {
		r.fail("a list in it is cut off")
		return nil
	}
	x := make([]float32, n)
	for i := range x {
		x[i] = math.Float32frombits(binary.LittleEndian.Uint32(r.next(4)))
	}
	return x
}

func (r *source) done() error {
	if r.err == nil && len(r.b) > 0 {
		r.fail(fmt.Sprintf("%d bytes are left over", len(r.b)))
	}
	return r.err
}
