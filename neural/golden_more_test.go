package neural

import (
	"math"
	"testing"
)

func TestLossesAreTorchs(t *testing.T) {
	var cases []struct {
		Name       string `json:"name"`
		Kind       string `json:"kind"`
		Parameters struct {
			Gamma        float64   `json:"gamma"`
			Alpha        []float32 `json:"alpha"`
			ClassWeights []float32 `json:"class_weights"`
			Delta        float64   `json:"delta"`
		} `json:"parameters"`
		Input  goldenTensor `json:"input"`
		Target []float32    `json:"target"`
		Loss   float64      `json:"loss_f64"`
		Grad   []float32    `json:"grad"`
	}
	readGolden(t, "losses", &cases)
	if len(cases) != 11 {
		t.Fatalf("%d cases, want 11", len(cases))
	}
	for _, c := range cases {
		rows, outputs := c.Input.Shape[0], len(c.Input.Data)/c.Input.Shape[0]
		l := LossSpec{Name: c.Kind, Gamma: c.Parameters.Gamma, Delta: c.Parameters.Delta}
		l.ClassWeights = append(c.Parameters.Alpha, c.Parameters.ClassWeights...)
		if err := l.Check(outputs); err != nil {
			t.Fatalf("%s: %v", c.Name, err)
		}
		d := &Dataset{Rows: rows, Target: c.Target}
		for _, y := range c.Target {
			d.Class = append(d.Class, int8(y))
		}
		f := newLossFunc(l, Best().ops, rows, outputs)
		total, grad := 0.0, make([]float32, rows*outputs)
		for r := range rows {
			total += f.weight(d, int32(r))
		}
		loss, _ := f.of(d, all(rows), answers{c.Input.Data, outputs, outputs}, grad, total)
		if got := loss / total; !(math.Abs(got-c.Loss) <= tolerance) {
			t.Errorf("%s: loss %.10g, want %.10g", c.Name, got, c.Loss)
		}
		near(t, c.Name+" gradient", grad, c.Grad)
	}
}

func TestRecurrentNetworksAreTorchs(t *testing.T) {
	for _, kind := range []string{LSTM, GRU} {
		t.Run(kind, func(t *testing.T) {
			eachKernel(t, func(t *testing.T, k Kernel) { recurrentIsTorchs(t, kind, k) })
		})
	}
}

type goldenRecurrent struct {
	In, Hidden, Layers, Seq, Batch, Out int
	Params                              goldenTensors `json:"params"`
	X                                   goldenTensor  `json:"x"`
	Y                                   []int8        `json:"y"`
	SequenceOutput                      goldenTensor  `json:"sequence_output"`
	HN                                  goldenTensor  `json:"h_n"`
	CN                                  goldenTensor  `json:"c_n"`
	Logits                              goldenTensor  `json:"logits"`
	Loss                                float32       `json:"loss"`
	Grad                                goldenTensors `json:"grad"`
	GradX                               goldenTensor  `json:"grad_x"`
}

// first is the golden run cut to its first n windows, where they do not depend on the
// others: what goes in, the answers and the states.
func (g goldenRecurrent) first(n int) goldenRecurrent {
	var h, c []float32
	for l := range g.Layers {
		h = append(h, g.HN.Data[l*g.Batch*g.Hidden:][:n*g.Hidden]...)
		if len(g.CN.Data) > 0 {
			c = append(c, g.CN.Data[l*g.Batch*g.Hidden:][:n*g.Hidden]...)
		}
	}
	g.Batch, g.Y = n, g.Y[:n]
	g.X.Data, g.Logits.Data = g.X.Data[:n*g.Seq*g.In], g.Logits.Data[:n*g.Out]
	g.SequenceOutput.Data, g.HN.Data, g.CN.Data = g.SequenceOutput.Data[:n*g.Seq*g.Hidden], h, c
	return g
}

// A batch that is no multiple of the rows that a kernel takes at once is padded, and
// its states are those of torch all the same.
func TestGolden_RecurrentOfAnyBatch(t *testing.T) {
	for _, kind := range []string{"lstm", "gru"} {
		var all goldenRecurrent
		readGolden(t, kind, &all)
		for _, k := range Kernels() {
			for n := 1; n < all.Batch; n++ {
				g := all.first(n)
				spec := Spec{Type: kind, Inputs: g.In, Outputs: g.Out, SequenceLength: g.Seq, HiddenSize: g.Hidden, Layers: g.Layers}
				tr := newTrainer(t, spec, TrainSpec{Batch: n}, k)
				if err := tr.net.SetParams(g.Params.params()); err != nil {
					t.Fatal(err)
				}
				d, rows := g.data()
				out := make([]float32, n*g.Out)
				if _, err := tr.Evaluate(d, rows, out); err != nil {
					t.Fatal(err)
				}
				near(t, "logits", out, g.Logits.Data)
				nearStates(t, tr.pass, g)
			}
		}
	}
}

// data are the windows one behind the other in one table; each ends in a row of
// its own.
func (g goldenRecurrent) data() (d *Dataset, rows []int32) {
	d = &Dataset{Rows: g.Batch * g.Seq, Inputs: g.In, Stride: g.In, X: g.X.Data, Class: make([]int8, g.Batch*g.Seq)}
	for i, y := range g.Y {
		rows = append(rows, int32((i+1)*g.Seq-1))
		d.Class[rows[i]] = y
	}
	return d, rows
}

func recurrentIsTorchs(t *testing.T, kind string, k Kernel) {
	t.Helper()
	var g goldenRecurrent
	readGolden(t, kind, &g)
	spec := Spec{Type: kind, Inputs: g.In, Outputs: g.Out, SequenceLength: g.Seq, HiddenSize: g.Hidden, Layers: g.Layers}
	tr := newTrainer(t, spec, TrainSpec{Batch: g.Batch}, k)
	if err := tr.net.SetParams(g.Params.params()); err != nil {
		t.Fatal(err)
	}
	d, rows := g.data()
	out := make([]float32, g.Batch*g.Out)
	s, err := tr.Evaluate(d, rows, out)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "logits", out, g.Logits.Data)
	near(t, "loss", []float32{float32(s.Loss)}, []float32{g.Loss})
	nearStates(t, tr.pass, g)
	if _, err := tr.Step(d, rows); err != nil {
		t.Fatal(err)
	}
	nearParams(t, "gradient", gradients(tr), g.Grad)
	near(t, "grad_x", inputGradient(tr.pass, g.Params, g.Batch, g.Seq, g.In, g.Hidden), g.GradX.Data)
}

// nearStates compares the hidden and cell states that a pass has left.
func nearStates(t *testing.T, p *pass, g goldenRecurrent) {
	t.Helper()
	var h, c, sequence []float32
	for _, l := range p.layers {
		for r := range g.Batch {
			last := (g.Seq*p.rows + r) * l.width
			h = append(h, l.h[last:][:g.Hidden]...)
			if l.lstm {
				c = append(c, l.c[last:][:g.Hidden]...)
			}
		}
	}
	top := p.layers[g.Layers-1]
	for r := range g.Batch {
		for step := range g.Seq {
			sequence = append(sequence, top.h[((step+1)*p.rows+r)*top.width:][:g.Hidden]...)
		}
	}
	near(t, "h_n", h, g.HN.Data)
	near(t, "c_n", c, g.CN.Data)
	near(t, "sequence_output", sequence, g.SequenceOutput.Data)
}

// inputGradient computes what training has no use for, the gradient of the
// inputs, from that of the first layer's gates.
func inputGradient(p *pass, params goldenTensors, batch, seq, in, hidden int) []float32 {
	w, l := params["rnn.weight_ih_l0"].Data, p.layers[0]
	gates := l.gates / l.width
	out := make([]float32, batch*seq*in)
	for r := range batch {
		for step := range seq {
			dz := l.z[(step*p.rows+r)*l.gates:][:l.gates]
			for i := range in {
				sum := 0.0
				for g := range gates {
					for j := range hidden {
						sum += float64(dz[g*l.width+j]) * float64(w[(g*hidden+j)*in+i])
					}
				}
				out[(r*seq+step)*in+i] = float32(sum)
			}
		}
	}
	return out
}
