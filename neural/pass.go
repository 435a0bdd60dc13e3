package neural

import (
	"math"
	"slices"
)

// pass is the room that one batch needs on its way through the network, and
// back. A trainer and each predictor have their own. Nothing in it outlives a
// batch, and after it was made nothing in it is allocated.
type pass struct {
	net   *Net
	room  int // rows that fit, a multiple of strip
	rows  int // rows in use, padded to strip
	train bool

	x      []float32   // gathered inputs: [time][row][input], padded
	in     []float32   // what forward reads: x, or a part of the table itself
	inRow  int         // from one row of it to the next
	hidden [][]float32 // per linear layer: what it gave, before dropout
	sent   [][]float32 // per linear layer: what the next one read, after dropout
	mask   [][]float32 // per linear layer: 0 or 1/(1-dropout)
	layers []*recurrent

	touched uint32 // see touch

	// Backward only.
	grad  []float32   // as the slab
	d     [][]float32 // per linear layer: gradient of what it gave
	flip  []float32   // a transposed weight
	below uint32      // a hash below it drops its element
	scale float32
}

func newPass(n *Net, rows int, train bool) *pass {
	p := &pass{net: n, room: padTo(rows, strip), train: train}
	s := n.spec
	p.x = make([]float32, s.Window()*p.room*padTo(s.Inputs, strip))
	for i, c := range n.cells {
		p.layers = append(p.layers, newRecurrent(s, c, i == len(n.cells)-1, p.room, train))
	}
	for i, l := range n.stack {
		size := p.room * l.w.stride
		p.hidden = append(p.hidden, make([]float32, size))
		p.sent = append(p.sent, p.hidden[i])
		p.mask = append(p.mask, nil)
		p.d = append(p.d, nil)
		if !train {
			continue
		}
		p.d[i] = make([]float32, size)
		if s.Dropout > 0 && i < len(n.stack)-1 {
			p.sent[i] = make([]float32, size)
			p.mask[i] = make([]float32, size)
		}
	}
	if train {
		p.grad = make([]float32, n.layout.size)
		p.flip = make([]float32, p.flipSize())
		p.below, p.scale = dropBound(s.Dropout)
	}
	return p
}

// dropBound is the bound that 16 bits of dropout's hash are compared with, and what a value
// that stays is multiplied by, so that the mean is kept.
func dropBound(dropout float64) (below uint32, scale float32) {
	below = uint32(min(math.Round(dropout*(1<<16)), 1<<16-1))
	return below, float32(1 / (1 - float64(float64(below)/(1<<16))))
}

// flipSize is the room of the largest weight that backward transposes.
func (p *pass) flipSize() int {
	size := 0
	for i, l := range p.net.stack {
		if i > 0 || len(p.net.cells) > 0 {
			size = max(size, l.w.size())
		}
	}
	for i, c := range p.net.cells {
		size = max(size, c.hh.w.size())
		if i > 0 {
			size = max(size, c.ih.w.size())
		}
	}
	return size
}

// gather copies the rows that the network shall read, and zeros for padding.
// A recurrent network reads the window that ends with each row, oldest first.
func (p *pass) gather(d *Dataset, rows []int32) {
	p.rows = padTo(len(rows), strip)
	window, stride := p.net.spec.Window(), padTo(d.Inputs, strip)
	p.in, p.inRow = p.x, stride
	if window == 1 {
		p.touched = touch(d, rows)
	}
	for t := range window {
		block := p.x[t*p.rows*stride:][:p.rows*stride]
		for i, r := range rows {
			copyRow(block[i*stride:][:d.Inputs], d.Row(int(r)-window+1+t))
		}
		clear(block[len(rows)*stride:])
	}
}

// look is gather for a batch that goes forward only. Rows that follow each other,
// as those of a whole series do, are read where they are.
func (p *pass) look(d *Dataset, rows []int32) {
	if p.net.spec.Window() > 1 || len(rows)%strip != 0 || !consecutive(rows) {
		p.gather(d, rows)
		return
	}
	p.rows = len(rows)
	p.in, p.inRow = d.X[int(rows[0])*d.Stride:], d.Stride
}

func consecutive(rows []int32) bool {
	for i, r := range rows {
		if r != rows[0]+int32(i) {
			return false
		}
	}
	return true
}

// touch reads a number of every cache line of some rows. Shuffled rows lie all over
// a table that no cache holds, and this loop is so short that the CPU waits for
// many of them at a time, where copying would wait for one after the other. What
// it returns is only there so that the loop is not left out.
func touch(d *Dataset, rows []int32) (bits uint32) {
	const line = 16
	for _, r := range rows {
		row := d.Row(int(r))
		for i := 0; i < len(row); i += line {
			bits |= math.Float32bits(row[i])
		}
	}
	return bits
}

// copyRow copies a row, four numbers at a time: most rows are so short that
// calling copy would take longer than copying.
func copyRow(dst, src []float32) {
	for len(src) >= 4 && len(dst) >= 4 {
		*(*[4]float32)(dst) = *(*[4]float32)(src)
		dst, src = dst[4:], src[4:]
	}
	for len(src) > 0 && len(dst) > 0 {
		dst[0] = src[0]
		dst, src = dst[1:], src[1:]
	}
}

func (p *pass) answers() answers {
	last := len(p.net.stack) - 1
	return answers{p.hidden[last], p.net.spec.Outputs, p.net.stack[last].w.stride}
}

// forward computes the outputs of the gathered rows. keys is what dropout's masks
// are made of; it is nil where nothing is dropped.
func (p *pass) forward(keys func() uint64) {
	in, stride := p.in, p.inRow
	for _, l := range p.layers {
		in, stride = l.forward(p, in, stride, keys), l.width
	}
	k := p.net.kernel
	for i, l := range p.net.stack {
		last := i == len(p.net.stack)-1
		f := p.net.act
		if last {
			f = actLinear
		}
		size := p.rows * l.w.stride
		y := p.hidden[i][:size]
		k.gemm(gemm{
			m: p.rows, n: l.w.stride, k: l.w.in, a: in, aRow: stride, aCol: 1,
			b: p.net.w[l.w.offset:][:l.w.size()], bRow: l.w.stride, c: y, cRow: l.w.stride,
			bias: p.net.w[l.b.offset:][:l.b.stride], slope: f.slope(),
		})
		if !f.bent() {
			k.apply(f, y)
			// A sigmoid of the padding is 1/2, which the next weight's padding
			// meets with zeros, but its gradient would not.
			clearPadding(y, l.w.out, l.w.stride)
		}
		if !last && keys != nil {
			p.drop(i, size, keys())
		}
		in, stride = p.sent[i], l.w.stride
		if keys == nil {
			in = p.hidden[i]
		}
	}
}

// drop makes a mask and what is left of a layer under it.
func (p *pass) drop(i, size int, key uint64) {
	k := p.net.kernel
	k.drop(p.sent[i][:size], p.hidden[i][:size], p.mask[i][:size], key, p.below, p.scale)
}

// clearPadding sets the columns from width on to zero.
func clearPadding(x []float32, width, stride int) {
	if width == stride {
		return
	}
	for ; len(x) >= stride; x = x[stride:] {
		clear(x[width:stride])
	}
}

// backward computes the gradient of all parameters, from that of the outputs,
// which lies in p.d of the last layer.
func (p *pass) backward(dropped bool) {
	k := p.net.kernel
	for i, l := range slices.Backward(p.net.stack) {
		d := p.d[i][:p.rows*l.w.stride]
		in, stride := p.inputOf(i, dropped)
		p.weightGrad(l, in, stride, d, p.rows)
		if i == 0 {
			if len(p.layers) > 0 {
				p.inputGrad(l.w, d, p.layers[len(p.layers)-1].outputGrad(p.rows), p.rows)
				p.backwardLayers(dropped)
			}
			return
		}
		below := p.d[i-1][:p.rows*p.net.stack[i-1].w.stride]
		p.inputGrad(l.w, d, below, p.rows)
		var mask []float32
		if dropped {
			mask = p.mask[i-1][:len(below)]
		}
		k.applyGrad(p.net.act, below, p.hidden[i-1][:len(below)], mask)
	}
}

func (p *pass) inputOf(i int, dropped bool) (x []float32, stride int) {
	switch {
	case i > 0 && dropped:
		return p.sent[i-1], p.net.stack[i-1].w.stride
	case i > 0:
		return p.hidden[i-1], p.net.stack[i-1].w.stride
	case len(p.layers) > 0:
		top := p.layers[len(p.layers)-1]
		return top.output(p.rows, dropped), top.width
	}
	return p.x, padTo(p.net.spec.Inputs, strip)
}

// weightGrad computes the gradients of a weight and its bias from what the layer
// read and the gradient of what it gave.
func (p *pass) weightGrad(l linear, in []float32, stride int, d []float32, rows int) {
	k := p.net.kernel
	k.gemm(gemm{
		m: l.w.rows, n: l.w.stride, k: rows, a: in, aRow: 1, aCol: stride, b: d, bRow: l.w.stride,
		c: p.grad[l.w.offset:][:l.w.size()], cRow: l.w.stride, slope: 1,
	})
	k.colSum(p.grad[l.b.offset:][:l.b.stride], d, rows, l.w.stride)
}

// inputGrad computes the gradient of what a layer read, w.rows wide.
func (p *pass) inputGrad(w tensor, d, dst []float32, rows int) {
	k := p.net.kernel
	p.transpose(w)
	k.gemm(gemm{
		m: rows, n: w.rows, k: w.reach(), a: d, aRow: w.stride, aCol: 1, b: p.flip, bRow: w.rows, c: dst,
		cRow: w.rows, slope: 1,
	})
}

// transpose leaves a weight as [out][in] in p.flip.
func (p *pass) transpose(w tensor) {
	p.net.kernel.transpose(p.flip[:w.size()], p.net.w[w.offset:][:w.size()], w.rows, w.stride, w.rows, w.stride)
}
