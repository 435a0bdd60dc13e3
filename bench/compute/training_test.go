//go:build unix

package compute

import (
	"fmt"
	"testing"

	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/num"
)

const (
	trainRows   = 20_000
	trainInputs = 40
)

// operationsPerRow counts the matrix products of one row of the net 40-64-32-3,
// forward and back; the inputs need no gradient.
const operationsPerRow = 4*40*64 + 6*64*32 + 6*32*3

// training prints rows per second of CPU time for the net 40-64-32-3 with Adam:
// shuffle, gather, forward, backward and step.
func training(b *testing.B) {
	b.Helper()
	data := randomRows()
	for _, dropout := range []float64{0, 0.2} {
		for _, batch := range []int{32, 64, 256} {
			var kernels []neural.Kernel
			var epochs []func()
			for _, k := range neural.Kernels() {
				if k.Name() != "reference" { // it is there to be exact
					kernels, epochs = append(kernels, k), append(epochs, epoch(b, data, k, batch, dropout))
				}
			}
			took := best(3, epochs...)
			plain := took[len(took)-1].Seconds() // the last is portable
			for i, k := range kernels[:len(kernels)-1] {
				rate, ratio := trainRows/took[i].Seconds(), plain/took[i].Seconds()
				verdict := ""
				if batch == 32 && i == 0 {
					verdict = aim(ratio >= 8, ">= 8 x portable")
				}
				line(fmt.Sprintf("training, batch %d, dropout %g", batch, dropout), "%6.0f krows/s on %s = %.1f x portable, %.0f %% of the FMA peak%s",
					rate/1000, k.Name(), ratio, 100*rate*operationsPerRow/peak(k), verdict)
			}
		}
	}
}

// epoch trains on all rows once.
func epoch(b *testing.B, data *neural.Dataset, k neural.Kernel, batch int, dropout float64) func() {
	b.Helper()
	net, err := neural.New(neural.Spec{Type: neural.MLP, Inputs: trainInputs, Outputs: 3, Hidden: []int{64, 32}, Dropout: dropout}, 1, k)
	check(b, err)
	t, err := neural.NewTrainer(net, neural.TrainSpec{Batch: batch, Optim: neural.OptimSpec{Clip: 1, WeightDecay: 1e-4}})
	check(b, err)
	order, r := make([]int32, trainRows), num.NewRand(1)
	return func() {
		r.Perm(order)
		for at := 0; at < len(order); at += batch {
			_, err := t.Step(data, order[at:min(at+batch, len(order))])
			check(b, err)
		}
	}
}

// randomRows are numbers with labels that depend on them a little.
func randomRows() *neural.Dataset {
	const stride = 48
	r := num.NewRand(1)
	d := &neural.Dataset{
		Rows: trainRows, Inputs: trainInputs, Stride: stride, X: make([]float32, trainRows*stride),
		Class: make([]int8, trainRows),
	}
	for i := range trainRows {
		row := d.Row(i)
		for j := range row {
			row[j] = float32(r.Norm())
		}
		if row[0] < 0.5 {
			d.Class[i] = int8(r.Uint64n(3))
		}
	}
	return d
}
