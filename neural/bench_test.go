package neural

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/ktrdr/ktrdr/num"
)

// randomData is a table of normal numbers with labels that depend on them a
// little.
func randomData(rows, inputs, classes int, seed uint64) *Dataset {
	r := num.NewRand(seed)
	d := &Dataset{
		Rows: rows, Inputs: inputs, Stride: padTo(inputs, lanes), X: make([]float32, rows*padTo(inputs, lanes)),
		Class: make([]int8, rows), Target: make([]float32, rows), Weight: make([]float32, rows),
	}
	for i := range rows {
		row := d.Row(i)
		for j := range row {
			row[j] = float32(r.Norm())
		}
		d.Class[i] = int8(r.Uint64n(uint64(classes)))
		if row[0] > 0.5 {
			d.Class[i] = 0
		}
		d.Target[i] = float32(row[0]*0.01) + float32(r.Norm()*0.01)
		d.Weight[i] = 0.5 + r.Float32()
	}
	return d
}

func benchTrainer(b *testing.B, s Spec, batch int, k Kernel) *Trainer {
	b.Helper()
	n, err := New(s, 1, k)
	if err != nil {
		b.Fatal(err)
	}
	t, err := NewTrainer(n, TrainSpec{Batch: batch, Optim: OptimSpec{Clip: 1, WeightDecay: 1e-4}})
	if err != nil {
		b.Fatal(err)
	}
	return t
}

// trainRate trains one step per iteration, shuffles at the end of an epoch, and
// returns rows per second of CPU time, which other processes disturb less.
func trainRate(b *testing.B, t *Trainer, d *Dataset, batch int) float64 {
	b.Helper()
	first := t.net.spec.Window() - 1
	rows := all(d.Rows)[first:]
	order := make([]int32, len(rows))
	at := len(order)
	start := cpuTime()
	for b.Loop() {
		if at+batch > len(order) {
			shuffle(t, order, rows)
			at = 0
		}
		if _, err := t.Step(d, order[at:at+batch]); err != nil {
			b.Fatal(err)
		}
		at += batch
	}
	return float64(b.N) * float64(batch) / (cpuTime() - start).Seconds()
}

// BenchmarkMLP trains the net 40-64-32-3 at three batch sizes on every kernel.
// Ratios are to the portable kernel and to the peak of a loop of fused
// multiply-adds of the same width that never touches memory, in one run.
func BenchmarkMLP(b *testing.B) {
	spec := Spec{Type: MLP, Inputs: 40, Outputs: 3, Hidden: []int{64, 32}}
	benchKernels(b, spec, []int{32, 64, 256})
	spec.Dropout = 0.2
	benchKernels(b, spec, []int{32, 64, 256})
}

func BenchmarkLSTM(b *testing.B) {
	benchKernels(b, Spec{Type: LSTM, Inputs: 40, Outputs: 3, SequenceLength: 20, HiddenSize: 64, Layers: 2}, []int{32})
}

func BenchmarkGRU(b *testing.B) {
	benchKernels(b, Spec{Type: GRU, Inputs: 40, Outputs: 3, SequenceLength: 20, HiddenSize: 64, Layers: 2}, []int{32})
}

func benchKernels(b *testing.B, s Spec, batches []int) {
	b.Helper()
	d := randomData(20_000, s.Inputs, s.Outputs, 1)
	for _, batch := range batches {
		base := 0.0
		for _, name := range []string{"portable", "avx2", "avx512"} {
			k, err := KernelByName(name)
			if err != nil {
				continue
			}
			b.Run(fmt.Sprintf("dropout=%g/batch=%d/%s", s.Dropout, batch, name), func(b *testing.B) {
				rate := trainRate(b, benchTrainer(b, s, batch, k), d, batch)
				if name == "portable" {
					base = rate
				}
				b.ReportMetric(rate/1000, "krows/s")
				b.ReportMetric(rate/base, "x-portable")
				if peak := peakFlops(k); peak > 0 {
					b.ReportMetric(100*rate*flopsPerRow(s)/peak, "%peak")
				}
			})
		}
	}
}

// peakFlops is what the CPU does at best in registers of a kernel's width: the
// best of some short runs, or 0 for a kernel without SIMD.
func peakFlops(k Kernel) float64 {
	best := 0.0
	for range 5 {
		start := cpuTime()
		best = max(best, float64(k.Peak(2_000_000))/(cpuTime()-start).Seconds())
	}
	return best
}

// flopsPerRow counts the matrix products of one row, forward and back: two
// operations per weight, three times, less the gradient of the inputs.
func flopsPerRow(s Spec) float64 {
	_, stack, cells := lay(s)
	flops := 0.0
	for i, l := range stack {
		passes := 6.0
		if i == 0 && len(cells) == 0 {
			passes = 4
		}
		flops += passes * float64(l.w.in*l.w.out)
	}
	for i, c := range cells {
		passes := 6.0
		if i == 0 {
			passes = 4
		}
		flops += float64(s.SequenceLength) * (passes*float64(c.ih.w.in*c.ih.w.out) + 6*float64(c.hh.w.in*c.hh.w.out))
	}
	return flops
}

// BenchmarkAdam shows that moments which decay to nothing cost nothing: without
// flushing to zero they would become denormal, and slow.
func BenchmarkAdam(b *testing.B) {
	const n = 5232 / lanes * lanes
	f := OptimSpec{}.withDefaults().factors(5000, 0.001, 1)
	for _, k := range Kernels() {
		base := 0.0
		for _, size := range []float32{1, 0x1p-126} {
			b.Run(fmt.Sprintf("%s/moments=%g", k.Name(), size), func(b *testing.B) {
				w, m, v, g := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
				start := cpuTime()
				for i := 0; b.Loop(); i++ {
					if i%8 == 0 {
						for j := range m {
							w[j], m[j], v[j] = 0.1, size, size
						}
					}
					k.ops.adam(w, m, v, g, &f)
				}
				perWeight := (cpuTime() - start).Seconds() * 1e9 / float64(b.N) / n
				if base == 0 {
					base = perWeight
				}
				b.ReportMetric(perWeight, "ns/weight")
				b.ReportMetric(perWeight/base, "x-usual")
			})
		}
	}
}

// BenchmarkMillionRows trains an epoch on 1,000,000 rows of 40 inputs and reports
// all memory that the process took from the system.
func BenchmarkMillionRows(b *testing.B) {
	d := randomData(1_000_000, 40, 3, 1)
	t := benchTrainer(b, Spec{Type: MLP, Inputs: 40, Outputs: 3, Hidden: []int{64, 32}, Dropout: 0.2}, 32, Kernel{})
	for b.Loop() {
		epoch(b, t, d, 32)
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.Sys)/1e6, "MB")
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "krows/s")
}

// BenchmarkPredict asks a network row by row and many rows at once.
func BenchmarkPredict(b *testing.B) {
	d := randomData(50_000, 40, 3, 1)
	for _, k := range Kernels()[:1] {
		n, err := New(Spec{Type: MLP, Inputs: 40, Outputs: 3, Hidden: []int{64, 32}}, 1, k)
		if err != nil {
			b.Fatal(err)
		}
		for _, rows := range []int{1, 50_000} {
			b.Run(fmt.Sprintf("%s/rows=%d", k.Name(), rows), func(b *testing.B) {
				p, out, which := NewPredictor(n, rows), make([]float32, rows*3), all(rows)
				for b.Loop() {
					if err := p.Predict(d, which, out); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.N)*float64(rows)/b.Elapsed().Seconds()/1000, "krows/s")
			})
		}
	}
}
