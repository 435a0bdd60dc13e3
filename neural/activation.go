package neural

import "github.com/ktrdr/ktrdr/num"

type activation int

const (
	actLinear activation = iota
	actReLU
	actLeakyReLU
	actTanh
	actSigmoid
)

var activations = map[string]activation{
	ReLU: actReLU, LeakyReLU: actLeakyReLU, Tanh: actTanh, Sigmoid: actSigmoid,
}

// slope is the factor for negative numbers if the function is a bent line, which
// the matrix product then applies itself, and 1 if it is not.
func (f activation) slope() float32 {
	switch f {
	case actReLU:
		return 0
	case actLeakyReLU:
		return leakySlope
	default:
		return 1
	}
}

// bent tells whether the matrix product has applied the function already.
func (f activation) bent() bool { return f != actTanh && f != actSigmoid }

// applyGo replaces x by f(x) for the functions that are not bent lines.
func applyGo(f activation, x []float32) {
	if f == actTanh {
		for i, v := range x {
			x[i] = num.Tanh32(v)
		}
		return
	}
	for i, v := range x {
		x[i] = num.Sigmoid32(v)
	}
}

// applyGradGo multiplies d by dropout's mask, if there is one, and by f'(x), found from y = f(x).
func applyGradGo(f activation, d, y, mask []float32) {
	d = d[:len(y)]
	if mask != nil {
		multiplyGo(d, d, mask)
	}
	switch f {
	case actTanh:
		for i, v := range y {
			d[i] = mul(d[i], tanhGrad(v))
		}
	case actSigmoid:
		for i, v := range y {
			d[i] = mul(d[i], sigmoidGrad(v))
		}
	default:
		slope := f.slope()
		for i, v := range y {
			if !(v > 0) {
				d[i] = mul(d[i], slope)
			}
		}
	}
}

// tanhGrad is tanh' at the point where tanh is y.
func tanhGrad(y float32) float32 { return 1 - mul(y, y) }

// sigmoidGrad is the sigmoid's derivative where the sigmoid is y.
func sigmoidGrad(y float32) float32 { return mul(y, 1-y) }
