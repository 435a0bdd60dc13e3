package neural

import (
	"math"
	"slices"

	"github.com/ktrdr/ktrdr/num"
)

// lossFunc is a loss with its room to compute in.
type lossFunc struct {
	LossSpec
	classes bool
	kernel  *ops

	// Of a batch, for classes. Exponentials are of the difference to the largest output of the row.
	exp    []float32
	top    []float32 // the largest output
	others []float64 // sum of the exponentials of all classes but the true one
	log    []float64 // of the sum of all
}

// newLossFunc has room for rows of that number of outputs.
func newLossFunc(l LossSpec, k *ops, rows, outputs int) lossFunc {
	l = l.withDefaults()
	l.ClassWeights = slices.Clone(l.ClassWeights)
	return lossFunc{
		LossSpec: l, classes: l.Classes(), kernel: k,
		exp: make([]float32, rows*outputs), top: make([]float32, rows),
		others: make([]float64, rows), log: make([]float64, rows),
	}
}

// weight is what the sample in that row counts in the mean.
func (l *lossFunc) weight(d *Dataset, row int32) float64 {
	w := d.weight(row)
	if l.Name == CrossEntropy && len(l.ClassWeights) > 0 {
		w = float64(w * float64(l.ClassWeights[d.Class[row]]))
	}
	return w
}

// answers are what a network said of a batch, row after row.
type answers struct {
	x      []float32
	width  int // outputs per row
	stride int // from one row to the next
}

func (a answers) row(i int) []float32 { return a.x[i*a.stride:][:a.width] }

// of adds up the losses of rows times their weights, and counts the rows for which
// the network chose the right class, or the right sign. If grad is not nil it
// receives, laid out as the answers, the gradient of the sum divided by total.
func (l *lossFunc) of(d *Dataset, rows []int32, a answers, grad []float32, total float64) (loss float64, right int) {
	if l.classes {
		return l.ofClasses(d, rows, a, grad, total)
	}
	for i, r := range rows {
		x, w := a.row(i)[0], d.weight(r)
		one, slope := l.error(float64(x) - float64(d.Target[r]))
		loss += float64(one * w)
		if (x > 0) == (d.Target[r] > 0) {
			right++
		}
		if grad != nil {
			grad[i*a.stride] = narrow(slope * share(w, total))
		}
	}
	return loss, right
}

// error is the loss of an error and its derivative.
func (l *lossFunc) error(e float64) (loss, slope float64) {
	if l.Name == MSE {
		return e * e, 2 * e
	}
	if a := math.Abs(e); a > l.Delta {
		return l.Delta * (a - float64(l.Delta/2)), math.Copysign(l.Delta, e)
	}
	return e * e / 2, e
}

// ofClasses is of, for losses of classes. Exponentials and logarithms are made of
// the whole batch at once, which a kernel does many times faster than one by one.
// Sums are float64, and the true class is kept out of the sum of the others: a
// probability near 1 needs the digits.
func (l *lossFunc) ofClasses(d *Dataset, rows []int32, a answers, grad []float32, total float64) (loss float64, right int) {
	l.softmax(d, rows, a)
	each := share(1, total)
	for i, r := range rows {
		y, w := int(d.Class[r]), d.weight(r)
		if len(l.ClassWeights) > 0 {
			w *= float64(l.ClassWeights[y])
		}
		out, e, top := a.row(i), l.exp[i*a.width:][:a.width], l.top[i]
		s := chosen{
			own: float64(e[y]), others: l.others[i],
			minusLog: l.log[i] + (float64(top) - float64(out[y])),
		}
		one, factor := s.minusLog, 1.0
		if l.Name == Focal {
			one, factor = s.focal(l.Gamma)
		}
		loss += float64(one * w)
		if isFirst(out, y, top) {
			right++
		}
		if grad == nil {
			continue
		}
		unit := float64(factor*w) * each / s.sum()
		g := grad[i*a.stride:][:a.width]
		for j, v := range e {
			g[j] = narrow(float64(v) * unit)
		}
		g[y] = narrow(-s.others * unit)
	}
	return loss, right
}

// softmax fills the room of a batch.
func (l *lossFunc) softmax(d *Dataset, rows []int32, a answers) {
	for i := range rows {
		out, e := a.row(i), l.exp[i*a.width:][:a.width]
		top := out[0]
		for _, x := range out[1:] {
			top = max(top, x) // NaN if there is one
		}
		for j, x := range out {
			e[j] = x - top
		}
		l.top[i] = top
	}
	l.kernel.exp(l.exp[:len(rows)*a.width])
	for i, r := range rows {
		e, y := l.exp[i*a.width:][:a.width], d.Class[r]
		own, others := e[y], 0.0
		e[y] = 0 // adding nothing is faster than asking each time
		for _, v := range e {
			others += float64(v)
		}
		e[y] = own
		l.others[i], l.log[i] = others, float64(own)+others
	}
	l.kernel.log(l.log[:len(rows)])
}

// isFirst tells whether y is the first class with the largest output.
func isFirst(out []float32, y int, top float32) bool {
	return out[y] == top && !slices.Contains(out[:y], top)
}

// chosen is the softmax of one row as seen from its true class.
type chosen struct {
	own, others float64 // exponential of the class, and of all others together
	minusLog    float64 // minus the log of its probability
}

func (s *chosen) sum() float64 { return s.own + s.others }

// focal is the focal loss, and what the gradient of -log p is multiplied by.
func (s *chosen) focal(gamma float64) (loss, factor float64) {
	switch {
	case gamma == 0:
		return s.minusLog, 1
	case s.others == 0:
		return 0, 0
	}
	p, rest := s.own/s.sum(), s.others/s.sum()
	f := num.Pow(rest, gamma)
	return f * s.minusLog, f + float64(float64(gamma*f/rest)*float64(p*s.minusLog))
}

// share is w/total, and 0 where there is nothing to share.
func share(w, total float64) float64 {
	if total == 0 {
		return 0
	}
	return w / total
}

// narrow is x as a float32 that is not denormal.
func narrow(x float64) float32 { return num.Normal32(float32(x)) }

// Softmax turns rows of outputs of a classifier into probabilities, in place.
func Softmax(x []float32, classes int) {
	x = x[:len(x)/classes*classes]
	for rest := x; len(rest) >= classes; rest = rest[classes:] {
		row := rest[:classes]
		top := row[0]
		for _, v := range row[1:] {
			top = max(top, v)
		}
		for j := range row {
			row[j] -= top
		}
	}
	Best().ops.exp(x) // every kernel gives the same bits
	for ; len(x) >= classes; x = x[classes:] {
		row, sum := x[:classes], float32(0)
		for _, e := range row {
			sum += e
		}
		for j := range row {
			row[j] /= sum
		}
	}
}
