package neural

import (
	"fmt"
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// Net is a network and its weights. It is only read by Predictors, as many as
// you like at a time, and changed by one Trainer.
type Net struct {
	spec   Spec
	kernel *ops
	layout layout
	stack  []linear     // the linear layers, in order; a recurrent network has one
	cells  []cellParams // the recurrent layers
	act    activation
	w      []float32 // the slab: all parameters, padded
}

// New makes a network with the weights that a seed gives, drawn as torch draws them:
// uniformly within 1/sqrt(inputs) of 0, or 1/sqrt(hidden size) in a recurrent layer.
func New(s Spec, seed uint64, k Kernel) (*Net, error) {
	n, err := empty(s, k)
	if err != nil {
		return nil, err
	}
	rng := num.NewRand(num.Mix(seed, 'w'))
	fanIn := 0
	for _, t := range n.layout.tensors {
		if !t.isBias() {
			fanIn = t.in // a bias takes that of the weight before it
		}
		if t.gates > 1 {
			fanIn = s.HiddenSize
		}
		bound := 1 / math.Sqrt(float64(fanIn))
		for o := range t.out {
			for i := range max(t.in, 1) {
				n.w[t.at(o, i)] = float32(bound * (float64(2*rng.Float64()) - 1))
			}
		}
	}
	return n, nil
}

func empty(s Spec, k Kernel) (*Net, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	s.Hidden = slices.Clone(s.Hidden)
	n := &Net{spec: s, kernel: k.use()}
	n.layout, n.stack, n.cells = lay(s)
	n.act = actLinear
	if s.Type == MLP {
		n.act = actReLU
		if s.Activation != "" {
			n.act = activations[s.Activation]
		}
	}
	n.w = make([]float32, n.layout.size)
	return n, nil
}

// Spec is the network's description.
func (n *Net) Spec() Spec {
	s := n.spec
	s.Hidden = slices.Clone(s.Hidden)
	return s
}

// Kernel is what the network runs on.
func (n *Net) Kernel() Kernel { return Kernel{n.kernel} }

// On is a copy of the network that runs on another kernel. It says the same, bit
// for bit, so the kernel must be of the same class.
func (n *Net) On(k Kernel) (*Net, error) {
	if k.Class() != n.kernel.class {
		return nil, fmt.Errorf("the network is of kernel class %s, and kernel %s is of class %s: its answers would have other bits",
			n.kernel.class, k.Name(), k.Class())
	}
	moved := *n
	moved.kernel = k.use()
	moved.w = slices.Clone(n.w)
	return &moved, nil
}

// ParamCount is the number of parameters.
func (n *Net) ParamCount() int { return n.layout.count }

// Param is a parameter, or its gradient: named and laid out as torch does it.
type Param struct {
	Name  string
	Shape []int // (out, in), or (out)
	Data  []float32
}

// Params are copies of the parameters, in torch's order.
func (n *Net) Params() []Param { return n.params(n.w) }

func (n *Net) params(slab []float32) []Param {
	var ps []Param
	for _, t := range n.layout.tensors {
		ps = append(ps, Param{Name: t.name, Shape: t.shape(), Data: t.pack(make([]float32, 0, t.count()), slab)})
	}
	return ps
}

// SetParams replaces the parameters. It changes none unless all are there, in
// the shapes that Params gives, and finite.
func (n *Net) SetParams(ps []Param) error {
	slab := make([]float32, n.layout.size)
	if len(ps) != len(n.layout.tensors) {
		return fmt.Errorf("set parameters: there are %d, and %s has %d", len(ps), n.spec, len(n.layout.tensors))
	}
	for _, t := range n.layout.tensors {
		i := slices.IndexFunc(ps, func(p Param) bool { return p.Name == t.name })
		if i < 0 {
			return fmt.Errorf("set parameters: %s has the parameter %q, which is not given", n.spec, t.name)
		}
		p := ps[i]
		if !slices.Equal(p.Shape, t.shape()) || len(p.Data) != t.count() {
			return fmt.Errorf("set parameters: %q has shape %v and %d values, want %v and %d", t.name, p.Shape, len(p.Data), t.shape(), t.count())
		}
		if j := notFinite(p.Data); j >= 0 {
			return fmt.Errorf("set parameters: value %d of %q is %g", j, t.name, p.Data[j])
		}
		t.unpack(slab, p.Data)
	}
	for i, w := range slab {
		n.w[i] = num.Normal32(w)
	}
	return nil
}

// notFinite is the place of the first NaN or infinity, or -1.
func notFinite(x []float32) int {
	return slices.IndexFunc(x, func(v float32) bool { return v-v != 0 })
}
