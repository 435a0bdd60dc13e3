package neural

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"

	"github.com/ktrdr/ktrdr/num"
)

// A State is, all numbers little endian:
//
//	8 bytes   "KTRDRNN" and the version 1
//	4 bytes   length of the identity, at most maxIdentity
//	…         identity: JSON of what the run is (network, loss, optimiser,
//	          kernel class, numerics version)
//	8 bytes   step
//	32 bytes  random state
//	32 bytes  schedule: epoch, best (float64), bad epochs, falls
//	…         weights, first and second moments: float32 in torch's order
const stateMagic = "KTRDRNN\x01"

const maxIdentity = 1 << 20

// identity must be the same for a run to be resumed.
type identity struct {
	Numerics string    `json:"numerics"`
	Class    string    `json:"kernel_class"`
	Network  Spec      `json:"network"`
	Loss     LossSpec  `json:"loss"`
	Optim    OptimSpec `json:"optimizer"`
}

func (t *Trainer) identity() identity {
	return identity{Numerics, t.net.kernel.class, t.net.spec, t.loss.LossSpec, t.optim}
}

// ErrState is in every error about a state that cannot be restored.
var ErrState = errors.New("the training state cannot be restored")

// State is everything that decides about the steps to come.
func (t *Trainer) State() ([]byte, error) {
	id, err := json.Marshal(t.identity())
	if err != nil {
		return nil, fmt.Errorf("training state: %w", err)
	}
	b := make([]byte, 0, len(stateMagic)+4+len(id)+72+12*t.net.layout.count)
	b = append(b, stateMagic...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(id)))
	b = append(b, id...)
	b = binary.LittleEndian.AppendUint64(b, t.step)
	for _, s := range t.rng.State() {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	for _, s := range []uint64{t.schedule.Epoch, math.Float64bits(t.schedule.Best), t.schedule.Bad, t.schedule.Falls} {
		b = binary.LittleEndian.AppendUint64(b, s)
	}
	for _, slab := range [][]float32{t.net.w, t.m, t.v} {
		b = t.net.layout.appendBytes(b, slab)
	}
	return b, nil
}

// Restore resumes from a State. If it returns an error, which is an ErrState, the trainer is as it was.
func (t *Trainer) Restore(state []byte) error {
	if err := t.restore(state); err != nil {
		return fmt.Errorf("%w: %w", ErrState, err)
	}
	return nil
}

func (t *Trainer) restore(b []byte) error {
	b, err := t.checkIdentity(b)
	if err != nil {
		return err
	}
	size := 4 * t.net.layout.count
	if len(b) != 72+3*size {
		return fmt.Errorf("%d bytes behind the identity, want %d", len(b), 72+3*size)
	}
	var words [9]uint64
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(b[8*i:])
	}
	random := [4]uint64(words[1:5])
	if random == [4]uint64{} {
		return errors.New("its random state is all zeros, which no stream of random numbers has")
	}
	schedule := scheduleState{Epoch: words[5], Best: math.Float64frombits(words[6]), Bad: words[7], Falls: words[8]}
	var slabs [3][]float32
	for i, what := range []string{"weights", "first moments", "second moments"} {
		if slabs[i], err = t.net.layout.fromBytes(b[72+i*size:][:size]); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	copy(t.net.w, slabs[0])
	copy(t.m, slabs[1])
	copy(t.v, slabs[2])
	t.step, t.schedule = words[0], schedule
	*t.rng = *num.RandFrom(random)
	return nil
}

// checkIdentity returns what lies behind the identity, if that is the trainer's.
func (t *Trainer) checkIdentity(b []byte) ([]byte, error) {
	got, rest, err := cutIdentity(b)
	if err != nil {
		return nil, err
	}
	want := t.identity()
	for _, part := range []struct {
		name      string
		got, want any
	}{
		{"numerics version", got.Numerics, want.Numerics},
		{"kernel class", got.Class, want.Class},
		{"network", got.Network, want.Network},
		{"loss", got.Loss, want.Loss},
		{"optimizer", got.Optim, want.Optim},
	} {
		if !sameJSON(part.got, part.want) {
			return nil, fmt.Errorf("its %s is %v and this run's is %v", part.name, part.got, part.want)
		}
	}
	return rest, nil
}

// cutIdentity reads the head of a state and returns what lies behind it.
func cutIdentity(b []byte) (id identity, rest []byte, err error) {
	b, ok := bytes.CutPrefix(b, []byte(stateMagic))
	if !ok || len(b) < 4 {
		return id, nil, errors.New("it does not begin as a training state of version 1 does")
	}
	n := binary.LittleEndian.Uint32(b)
	if b = b[4:]; n > maxIdentity || int(n) > len(b) {
		return id, nil, fmt.Errorf("its identity of %d bytes is too long", n)
	}
	if err := json.Unmarshal(b[:n], &id); err != nil {
		return id, nil, fmt.Errorf("its identity: %w", err)
	}
	return id, b[n:], nil
}

// sameJSON compares as stored: an empty list and none are the same.
func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// appendBytes appends the values of a slab, padding left out, in torch's order.
func (l *layout) appendBytes(b []byte, slab []float32) []byte {
	for _, t := range l.tensors {
		b = t.appendBytes(b, slab)
	}
	return b
}

func (t tensor) appendBytes(b []byte, slab []float32) []byte {
	for o := range t.out {
		for i := range max(t.in, 1) {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(slab[t.at(o, i)]))
		}
	}
	return b
}

// fromBytes is the reverse of appendBytes. It refuses what is not finite, and
// flushes what is denormal, which no training leaves.
func (l *layout) fromBytes(b []byte) ([]float32, error) {
	slab := make([]float32, l.size)
	for _, t := range l.tensors {
		if err := t.fromBytes(slab, b[:4*t.count()]); err != nil {
			return nil, err
		}
		b = b[4*t.count():]
	}
	return slab, nil
}

func (t tensor) fromBytes(slab []float32, b []byte) error {
	for o := range t.out {
		for i := range max(t.in, 1) {
			x := math.Float32frombits(binary.LittleEndian.Uint32(b))
			if x-x != 0 {
				return fmt.Errorf("%s (%d, %d) is %g", t.name, o, i, x)
			}
			slab[t.at(o, i)] = num.Normal32(x)
			b = b[4:]
		}
	}
	return nil
}
