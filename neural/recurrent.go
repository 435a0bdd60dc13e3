package neural

import "slices"

// recurrent is the room of one recurrent layer: every step in time of a batch, the
// rows of a step one behind the other, the steps one behind the other. So the
// products that do not wait for the step before are one product for all steps: the
// inputs' part of the gates forward, and the gradients of both weights backward.
type recurrent struct {
	params cellParams
	lstm   bool
	top    bool
	steps  int
	width  int // hidden size, padded
	gates  int // all gates, padded

	z     []float32 // [step][row][gates]
	zh    []float32 // as z if a backward pass of a GRU follows, else of one step
	h     []float32 // [1+step][row][width]: the first is the zero state before
	c     []float32 // LSTM: the cell states, as h
	keep  []float32 // [step][row][width]
	sent  []float32 // h after dropout; the top layer sends its last step only
	mask  []float32
	d     []float32 // [step][row][width]: gradient of h from above
	dRec  []float32 // [row][width]
	carry []float32 // [row][width]
	cell  cell
}

func newRecurrent(s Spec, params cellParams, top bool, room int, train bool) *recurrent {
	r := &recurrent{params: params, lstm: s.Type == LSTM, top: top, steps: s.SequenceLength}
	r.width, r.gates = params.hh.w.rows, params.hh.w.stride
	step := room * r.width
	r.z = make([]float32, r.steps*room*r.gates)
	r.zh = make([]float32, room*r.gates)
	r.h = make([]float32, (1+r.steps)*step)
	r.keep = make([]float32, r.steps*step)
	if r.lstm {
		r.c = make([]float32, (1+r.steps)*step)
	}
	if !train {
		return r
	}
	if !r.lstm {
		r.zh = make([]float32, r.steps*room*r.gates)
	}
	r.d = make([]float32, r.steps*step)
	r.dRec, r.carry = make([]float32, step), make([]float32, step)
	if s.Dropout > 0 {
		sent := r.steps * step
		if top {
			sent = step
		}
		r.sent, r.mask = make([]float32, sent), make([]float32, sent)
	}
	return r
}

// at prepares the cell for a step.
func (r *recurrent) at(t, rows int) *cell {
	gates, step := rows*r.gates, rows*r.width
	c := &r.cell
	c.rows, c.cols = rows, r.width
	c.z = r.z[t*gates:][:gates]
	c.zh = r.hiddenPart(t, rows)
	c.keep = r.keep[t*step:][:step]
	c.h = r.h[(t+1)*step:][:step]
	c.prev = r.h[t*step:][:step]
	if r.lstm {
		c.prev, c.state = r.c[t*step:][:step], r.c[(t+1)*step:][:step]
	}
	return c
}

// hiddenPart is the place of zh at a step.
func (r *recurrent) hiddenPart(t, rows int) []float32 {
	gates := rows * r.gates
	if len(r.zh) < r.steps*gates {
		t = 0 // one place for all steps
	}
	return r.zh[t*gates:][:gates]
}

// forward computes all steps and returns what the next layer reads: all steps,
// or the last one of the top layer.
func (r *recurrent) forward(p *pass, in []float32, stride int, keys func() uint64) []float32 {
	k, w, rows := p.net.kernel, p.net.w, p.rows
	ih, hh := r.params.ih, r.params.hh
	k.gemm(gemm{
		m: r.steps * rows, n: r.gates, k: ih.w.in, a: in, aRow: stride, aCol: 1,
		b: w[ih.w.offset:][:ih.w.size()], bRow: r.gates, c: r.z, cRow: r.gates,
		bias: w[ih.b.offset:][:r.gates], slope: 1,
	})
	step := rows * r.width
	clear(r.h[:step])
	if r.lstm {
		clear(r.c[:step])
	}
	for t := range r.steps {
		c := r.at(t, rows)
		k.gemm(gemm{
			m: rows, n: r.gates, k: hh.w.in, a: r.h[t*step:], aRow: r.width, aCol: 1,
			b: w[hh.w.offset:][:hh.w.size()], bRow: r.gates, c: c.zh, cRow: r.gates,
			bias: w[hh.b.offset:][:r.gates], slope: 1,
		})
		if r.lstm {
			k.lstm(c)
		} else {
			k.gru(c)
		}
	}
	if keys != nil {
		size := len(r.raw(rows))
		k.drop(r.sent[:size], r.raw(rows), r.mask[:size], keys(), p.below, p.scale)
	}
	return r.output(rows, keys != nil)
}

func (r *recurrent) raw(rows int) []float32 {
	step := rows * r.width
	if r.top {
		return r.h[r.steps*step:][:step]
	}
	return r.h[step:][:r.steps*step]
}

func (r *recurrent) output(rows int, dropped bool) []float32 {
	if dropped {
		return r.sent[:len(r.raw(rows))]
	}
	return r.raw(rows)
}

// outputGrad is where the gradient of output goes. That of the top layer's
// earlier steps, which nothing reads, is zero.
func (r *recurrent) outputGrad(rows int) []float32 {
	step := rows * r.width
	if !r.top {
		return r.d[:r.steps*step]
	}
	clear(r.d[:(r.steps-1)*step])
	return r.d[(r.steps-1)*step:][:step]
}

// backward goes through the steps from the last to the first, then computes the gradients
// of the weights, and that of what the layer read into below, unless that is nil.
func (r *recurrent) backward(p *pass, in []float32, stride int, below []float32) {
	k, rows := p.net.kernel, p.rows
	hh, step := r.params.hh, rows*r.width
	clear(r.dRec[:step])
	clear(r.carry[:step])
	p.transpose(hh.w)
	for t := r.steps - 1; t >= 0; t-- {
		c := r.at(t, rows)
		c.dOut, c.dRec, c.carry = r.d[t*step:][:step], r.dRec[:step], r.carry[:step]
		dz := c.zh
		if r.lstm {
			k.lstmGrad(c)
			dz = c.z
		} else {
			k.gruGrad(c)
		}
		if t > 0 {
			k.gemm(gemm{
				m: rows, n: r.width, k: hh.w.reach(), a: dz, aRow: r.gates, aCol: 1, b: p.flip, bRow: r.width,
				c: r.dRec, cRow: r.width, slope: 1,
			})
		}
	}
	all := r.steps * rows
	dz, dzh := r.z[:all*r.gates], r.z[:all*r.gates]
	if !r.lstm {
		dzh = r.zh[:all*r.gates]
	}
	p.weightGrad(r.params.ih, in, stride, dz, all)
	p.weightGrad(hh, r.h, r.width, dzh, all)
	if below != nil {
		p.inputGrad(r.params.ih.w, dz, below, all)
	}
}

// backwardLayers goes down the recurrent layers. The gradient of what the top one gave lies in its outputGrad.
func (p *pass) backwardLayers(dropped bool) {
	for i, r := range slices.Backward(p.layers) {
		if dropped {
			d := r.d[:r.steps*p.rows*r.width]
			if r.top {
				d = d[(r.steps-1)*p.rows*r.width:]
			}
			p.net.kernel.multiply(d, d, r.mask[:len(d)])
		}
		if i == 0 {
			r.backward(p, p.x, padTo(p.net.spec.Inputs, strip), nil)
			return
		}
		under := p.layers[i-1]
		r.backward(p, under.output(p.rows, dropped), under.width, under.outputGrad(p.rows))
	}
}
