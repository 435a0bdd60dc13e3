package neural

import (
	"fmt"
	"slices"
)

// Widths are padded so that a kernel never has a remainder to think about:
// outputs to lanes, the batch and the rows of a weight to strip. Padding is zero
// and stays zero: its gradient is zero.
const (
	lanes = 16
	strip = 4
)

func padTo(n, to int) int { return (n + to - 1) / to * to }

// tensor is one parameter of the network inside the slab. Weights are stored
// [in][out], transposed from torch's (out, in), because then the lanes of a
// vector hold different outputs and no sum ever runs across lanes.
//
// A recurrent weight has one block of columns per gate, each padded alone.
type tensor struct {
	name    string
	in, out int // a bias has in = 0; out counts all gates
	gates   int // 1 except in a recurrent layer
	rows    int // in, padded; 1 for a bias
	offset  int
	stride  int
}

func (t tensor) isBias() bool { return t.in == 0 }

func (t tensor) size() int { return t.rows * t.stride }

// reach is the number of columns up to the last one that is not padding.
func (t tensor) reach() int { return t.stride - t.stride/t.gates + t.out/t.gates }

func (t tensor) count() int { return max(t.in, 1) * t.out }

// shape is torch's: (out, in), or (out) for a bias.
func (t tensor) shape() []int {
	if t.isBias() {
		return []int{t.out}
	}
	return []int{t.out, t.in}
}

// at is the place in the slab of torch's element (o, i).
func (t tensor) at(o, i int) int {
	per := t.out / t.gates
	return t.offset + i*t.stride + o/per*(t.stride/t.gates) + o%per
}

// pack appends the values in torch's order.
func (t tensor) pack(dst, slab []float32) []float32 {
	for o := range t.out {
		for i := range max(t.in, 1) {
			dst = append(dst, slab[t.at(o, i)])
		}
	}
	return dst
}

// unpack is the reverse of pack; it returns what is left of src.
func (t tensor) unpack(slab, src []float32) []float32 {
	for o := range t.out {
		for i := range max(t.in, 1) {
			slab[t.at(o, i)] = src[0]
			src = src[1:]
		}
	}
	return src
}

type layout struct {
	tensors []tensor // in torch's order
	size    int      // of the slab, a multiple of lanes
	count   int      // parameters, padding left out
}

func (l *layout) add(name string, in, out, gates, rows int) tensor {
	t := tensor{
		name: name, in: in, out: out, gates: gates, rows: rows,
		offset: l.size, stride: gates * padTo(out/gates, lanes),
	}
	l.tensors = append(l.tensors, t)
	l.size += t.size()
	l.count += t.count()
	return t
}

type linear struct{ w, b tensor }

func (l *layout) linear(weight, bias string, in, out, gates, rows int) linear {
	return linear{l.add(weight, in, out, gates, rows), l.add(bias, 0, out, gates, 1)}
}

// lay places the parameters of a network, named as torch names those of the
// nn.Sequential, nn.LSTM or nn.GRU of the same shape.
func lay(s Spec) (l layout, stack []linear, cells []cellParams) {
	in, rows := s.Inputs, padTo(s.Inputs, strip)
	if s.Recurrent() {
		for i := range s.Layers {
			cells = append(cells, layCell(&l, s, i, in, rows))
			in, rows = s.HiddenSize, padTo(s.HiddenSize, lanes)
		}
		return l, []linear{l.linear("fc.weight", "fc.bias", in, s.Outputs, 1, rows)}, cells
	}
	for i, out := range append(slices.Clone(s.Hidden), s.Outputs) {
		name := 2 * i // Linear and activation take turns in the nn.Sequential
		if s.Dropout > 0 {
			name = 3 * i // and dropout makes it three
		}
		stack = append(stack, l.linear(fmt.Sprintf("%d.weight", name), fmt.Sprintf("%d.bias", name), in, out, 1, rows))
		in, rows = out, padTo(out, lanes)
	}
	return l, stack, nil
}

type cellParams struct{ ih, hh linear }

func layCell(l *layout, s Spec, i, in, rows int) cellParams {
	name := func(kind string) string { return fmt.Sprintf("rnn.%s_l%d", kind, i) }
	out, hidden := s.gates()*s.HiddenSize, padTo(s.HiddenSize, lanes)
	var p cellParams // torch's order: both weights, then both biases
	p.ih.w = l.add(name("weight_ih"), in, out, s.gates(), rows)
	p.hh.w = l.add(name("weight_hh"), s.HiddenSize, out, s.gates(), hidden)
	p.ih.b = l.add(name("bias_ih"), 0, out, s.gates(), 1)
	p.hh.b = l.add(name("bias_hh"), 0, out, s.gates(), 1)
	return p
}
