package indicator

import (
	"math"

	"github.com/ktrdr/ktrdr/market"
)

// Indicator is an indicator with its parameters set. It holds no state: it may
// be used by many goroutines at once.
type Indicator interface {
	// Outputs names the series it produces.
	Outputs() []string

	// WarmUp is, per output, the index of the first defined value.
	WarmUp() []int

	// Compute fills out[k][:b.Len()] with output k, NaN where undefined.
	Compute(b *market.Bars, out [][]float64)

	// Stream computes the same values, bit for bit, one bar at a time.
	Stream() Stream

	// NeedsVolume tells whether it is made of volumes.
	NeedsVolume() bool

	// Cost is roughly the nanoseconds that a bar takes in Compute.
	Cost() float64

	// Memory is roughly the number of float64 that a Stream holds.
	Memory() int
}

// Stream is an indicator at work on a series that arrives bar by bar.
type Stream interface {
	// Push takes the next bar and fills out[k] with output k at that bar.
	Push(bar market.Bar, out []float64)
}

// machine is an indicator's one implementation: it takes the next bars, as few
// or as many as it is given but at least one, and continues where it stopped.
// Every bar it is given is finite in the columns it reads.
type machine func(in *market.Bars, out [][]float64)

// step turns the next values of a series into as many others, and continues where it stopped; out may be x.
type step func(x, out []float64)

// piece is how many bars Compute gives to a machine at once. What a machine
// writes down between two steps then stays in the first-level cache.
const piece = 1024

// built is the Indicator that the definitions make.
type built struct {
	outputs []string
	warm    []int
	reads   columns
	cost    float64
	memory  int
	start   func() machine // a machine that has seen nothing
}

func (x built) Outputs() []string { return x.outputs }
func (x built) WarmUp() []int     { return x.warm }
func (x built) NeedsVolume() bool { return x.reads&volumes != 0 }

func (x built) Cost() float64 { return x.cost }
func (x built) Memory() int   { return x.memory }

// Compute implements Indicator.
func (x built) Compute(b *market.Bars, out [][]float64) {
	r := runner{built: x}
	part := make([][]float64, len(x.outputs))
	for i := 0; i < b.Len(); i += piece {
		j := min(i+piece, b.Len())
		for k := range part {
			part[k] = out[k][i:j]
		}
		r.run(b.Slice(i, j), part)
	}
}

// Stream implements Indicator.
func (x built) Stream() Stream {
	s := &stream{runner: runner{built: x}, values: make([]float64, len(x.outputs))}
	s.bar.Append(market.Bar{})
	for k := range s.values {
		s.out = append(s.out, s.values[k:k+1])
	}
	return s
}

// stream is a runner that is given one bar at a time.
type stream struct {
	runner runner
	bar    market.Bars
	values []float64
	out    [][]float64
}

// Push implements Stream.
func (s *stream) Push(x market.Bar, out []float64) {
	b := &s.bar
	b.Time[0], b.Open[0], b.High[0], b.Low[0], b.Close[0], b.Volume[0] = x.Time, x.Open, x.High, x.Low, x.Close, x.Volume
	s.runner.run(b, s.out)
	copy(out, s.values)
}

// runner keeps bars that are not finite away from the machine: each ends the
// series, and a fresh machine begins behind it.
type runner struct {
	built
	machine machine
}

func (r *runner) run(in *market.Bars, out [][]float64) {
	bad := r.firstUndefined(in)
	r.feed(in, out, 0, bad)
	for bad < in.Len() {
		r.machine = nil
		for _, column := range out {
			column[bad] = math.NaN()
		}
		from := bad + 1
		bad = from + r.firstUndefined(in.Slice(from, in.Len()))
		r.feed(in, out, from, bad)
	}
}

// feed gives bars i to j to the machine.
func (r *runner) feed(in *market.Bars, out [][]float64, i, j int) {
	if i == j {
		return
	}
	if r.machine == nil {
		r.machine = r.start()
	}
	if j-i < in.Len() {
		part := make([][]float64, len(out))
		for k := range out {
			part[k] = out[k][i:j]
		}
		in, out = in.Slice(i, j), part
	}
	r.machine(in, out)
}

// firstUndefined is the first bar that is not finite in a column that is read, or the number of bars.
func (r *runner) firstUndefined(in *market.Bars) int {
	n := in.Len()
	r.reads.each(in, func(x []float64) {
		if finite(x[:n]) {
			return
		}
		for i, v := range x[:n] {
			if v-v != 0 {
				n = i
				return
			}
		}
	})
	return n
}

// finite says whether every value is. It adds up v-v, which is 0 for a finite
// v and NaN for any other, in four sums that do not wait for each other.
func finite(x []float64) bool {
	var a, b, c, d float64
	for len(x) >= 4 {
		a += x[0] - x[0]
		b += x[1] - x[1]
		c += x[2] - x[2]
		d += x[3] - x[3]
		x = x[4:]
	}
	for _, v := range x {
		a += v - v
	}
	return a+b+c+d == 0
}

// scratch is room for values between two steps of a machine.
type scratch []float64

// take returns room for n values; what it held is lost.
func (s *scratch) take(n int) []float64 {
	if cap(*s) < n {
		*s = make([]float64, n)
	}
	return (*s)[:n]
}

// lead counts the bars at the start of a series that a step must not see,
// because the step before it has no value there yet.
type lead int

// skip says how many of the next n bars are such.
func (l *lead) skip(n int) int {
	k := min(int(*l), n)
	*l -= lead(k)
	return k
}

func undefined(x []float64) {
	for i := range x {
		x[i] = math.NaN()
	}
}
