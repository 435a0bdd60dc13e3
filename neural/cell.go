package neural

import "github.com/ktrdr/ktrdr/num"

// cell is one step in time of one recurrent layer, for a whole batch: what its
// loops over elements read and write. Rows lie one behind the other; z and zh
// hold the gates side by side, each cols wide. The assembly reads this struct, so
// that its fields keep their names.
//
// An LSTM has the gates input, forget, cell, output; a GRU reset, update, new: torch's order.
type cell struct {
	rows, cols int

	z     []float32 // from the inputs; forward leaves the gates here, backward their gradient
	zh    []float32 // from the last hidden state; GRU backward leaves its gradient here
	prev  []float32 // LSTM: the cell state before; GRU: the hidden state before
	state []float32 // LSTM: the cell state after
	keep  []float32 // LSTM: tanh of state; GRU: the new gate's zh. Forward writes, backward reads
	h     []float32 // the hidden state after

	dOut  []float32 // gradient of h from above
	dRec  []float32 // gradient of h from the next step, through zh
	carry []float32 // LSTM: gradient of state; GRU: gradient of h past zh. From the next step, to the one before
}

func lstmGo(c *cell) {
	n := c.cols
	for r := range c.rows {
		z, zh := c.z[r*4*n:][:4*n], c.zh[r*4*n:][:4*n]
		prev, state, keep, h := c.prev[r*n:][:n], c.state[r*n:][:n], c.keep[r*n:][:n], c.h[r*n:][:n]
		for j := range n {
			in := num.Sigmoid32(add(z[j], zh[j]))
			forget := num.Sigmoid32(add(z[n+j], zh[n+j]))
			fresh := num.Tanh32(add(z[2*n+j], zh[2*n+j]))
			out := num.Sigmoid32(add(z[3*n+j], zh[3*n+j]))
			z[j], z[n+j], z[2*n+j], z[3*n+j] = in, forget, fresh, out
			s := add(mul(forget, prev[j]), mul(in, fresh))
			state[j] = s
			keep[j] = num.Tanh32(s)
			h[j] = mul(out, keep[j])
		}
	}
}

func lstmGradGo(c *cell) {
	n := c.cols
	for r := range c.rows {
		z := c.z[r*4*n:][:4*n]
		prev, keep, carry := c.prev[r*n:][:n], c.keep[r*n:][:n], c.carry[r*n:][:n]
		dOut, dRec := c.dOut[r*n:][:n], c.dRec[r*n:][:n]
		for j := range n {
			in, forget, fresh, out := z[j], z[n+j], z[2*n+j], z[3*n+j]
			dh := add(dOut[j], dRec[j])
			dc := add(carry[j], mul(mul(dh, out), tanhGrad(keep[j])))
			z[j] = mul(mul(dc, fresh), sigmoidGrad(in))
			z[n+j] = mul(mul(dc, prev[j]), sigmoidGrad(forget))
			z[2*n+j] = mul(mul(dc, in), tanhGrad(fresh))
			z[3*n+j] = mul(mul(dh, keep[j]), sigmoidGrad(out))
			carry[j] = mul(dc, forget)
		}
	}
}

func gruGo(c *cell) {
	n := c.cols
	for r := range c.rows {
		z, zh := c.z[r*3*n:][:3*n], c.zh[r*3*n:][:3*n]
		prev, keep, h := c.prev[r*n:][:n], c.keep[r*n:][:n], c.h[r*n:][:n]
		for j := range n {
			reset := num.Sigmoid32(add(z[j], zh[j]))
			update := num.Sigmoid32(add(z[n+j], zh[n+j]))
			keep[j] = zh[2*n+j]
			fresh := num.Tanh32(add(z[2*n+j], mul(reset, keep[j])))
			z[j], z[n+j], z[2*n+j] = reset, update, fresh
			h[j] = add(fresh, mul(update, add(prev[j], -fresh)))
		}
	}
}

func gruGradGo(c *cell) {
	n := c.cols
	for r := range c.rows {
		z, zh := c.z[r*3*n:][:3*n], c.zh[r*3*n:][:3*n]
		prev, keep, carry := c.prev[r*n:][:n], c.keep[r*n:][:n], c.carry[r*n:][:n]
		dOut, dRec := c.dOut[r*n:][:n], c.dRec[r*n:][:n]
		for j := range n {
			reset, update, fresh := z[j], z[n+j], z[2*n+j]
			dh := add(add(dOut[j], dRec[j]), carry[j])
			dFresh := mul(mul(dh, 1-update), tanhGrad(fresh))
			dReset := mul(mul(dFresh, keep[j]), sigmoidGrad(reset))
			dUpdate := mul(mul(dh, add(prev[j], -fresh)), sigmoidGrad(update))
			z[j], z[n+j], z[2*n+j] = dReset, dUpdate, dFresh
			zh[j], zh[n+j], zh[2*n+j] = dReset, dUpdate, mul(dFresh, reset)
			carry[j] = mul(dh, update)
		}
	}
}
