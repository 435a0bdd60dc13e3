package train_test

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/train"
)

func TestModel_ComesBackAsItWas(t *testing.T) {
	for name, l := range map[string]lab{
		"an mlp":  {symbols: threeSymbols},
		"an lstm": {symbols: threeSymbols, model: "{type: lstm, architecture: {sequence_length: 6, hidden_size: 4}}"},
		"a gru regression": {
			symbols: threeSymbols, model: "{type: gru, architecture: {sequence_length: 4, hidden_size: 4}}",
			labels:    "{source: forward_return, horizon: 5}",
			decisions: "{output_format: regression, cost_model: {round_trip_cost: 0.001, min_edge_multiplier: 1}}",
		},
	} {
		t.Run(name, func(t *testing.T) {
			data := unlike(t)
			m := model(t, l, data...)
			file := encode(t, m)
			back, err := train.Decode(bytes.NewReader(file))
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(encode(t, back), file) {
				t.Error("the model read back is written differently")
			}
			want := m.Info
			want.Metrics.Training.History = metrics.History{}
			if d := cmp.Diff(want, back.Info); d != "" {
				t.Errorf("what it knows of its making differs (-was +is):\n%s", d)
			}
			if back.Strategy.Hash() != m.Strategy.Hash() {
				t.Error("the strategy differs")
			}
			for _, d := range data {
				a, err := train.Predict(m, d)
				if err != nil {
					t.Fatal(err)
				}
				b, err := train.Predict(back, d)
				if err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(a.Answers[a.First*a.Outputs:], b.Answers[b.First*b.Outputs:]) || !slices.Equal(a.Signal, b.Signal) {
					t.Errorf("%s: the answers differ", d.Symbol)
				}
			}
		})
	}
}

func TestModel_RunsOnTheKernelThatWasAskedFor(t *testing.T) {
	data := synth(t, "AAA", 700, 3, 0)
	m := model(t, lab{}, data)
	want, err := train.Predict(m, data)
	if err != nil {
		t.Fatal(err)
	}
	file := encode(t, m)
	read, err := train.Decode(bytes.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range neural.Kernels() {
		t.Run(k.Name(), func(t *testing.T) {
			back, err := read.On(k)
			if k.Class() != m.Info.KernelClass {
				if err == nil || !strings.Contains(err.Error(), "would have other bits") {
					t.Errorf("a model of class %s on %s: err = %v", m.Info.KernelClass, k, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := back.Net.Kernel(); got != k {
				t.Errorf("it runs on %s, want %s", got, k)
			}
			if !bytes.Equal(encode(t, back), file) {
				t.Error("written again, it is another file")
			}
			got, err := train.Predict(back, data)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Answers[got.First*got.Outputs:], want.Answers[want.First*want.Outputs:]) {
				t.Error("it gives other answers")
			}
		})
	}
}

// rewrite changes a model file's metadata and nothing else.
func rewrite(t *testing.T, file []byte, change func(meta map[string]string)) []byte {
	t.Helper()
	m, err := neural.ReadModel(bytes.NewReader(file), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	change(m.Metadata)
	var b bytes.Buffer
	if err := neural.WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestDecode_RefusesWhatDoesNotBelongTogether(t *testing.T) {
	file := encode(t, model(t, lab{}, synth(t, "AAA", 700, 3, 0)))
	replace := func(key, old, new string) func(map[string]string) {
		return func(meta map[string]string) {
			if !strings.Contains(meta[key], old) {
				t.Fatalf("%s holds no %q: %s", key, old, meta[key])
			}
			meta[key] = strings.Replace(meta[key], old, new, 1)
		}
	}
	for name, c := range map[string]struct {
		change func(map[string]string)
		want   string
	}{
		"another arithmetic":       {replace("ktrdr.model", train.Numerics, "train/0"), `made with the arithmetic "train/0`},
		"another strategy":         {replace("ktrdr.strategy", "name: lab", "name: other"), "hash of its strategy"},
		"a broken strategy":        {replace("ktrdr.strategy", "rsi", "rsj"), "rsj"},
		"another feature":          {replace("ktrdr.model", `"1h_zone_low"`, `"1h_zone_lot"`), "its features are"},
		"another kernel class":     {replace("ktrdr.model", `"kernel_class":"`, `"kernel_class":"x`), "kernel class"},
		"an unknown key":           {replace("ktrdr.model", `{"numerics"`, `{"more":1,"numerics"`), "unknown field"},
		"something behind it":      {func(m map[string]string) { m["ktrdr.model"] += "{}" }, "follows its description"},
		"no description":           {func(m map[string]string) { delete(m, "ktrdr.model") }, "its description"},
		"a split out of order":     {replace("ktrdr.model", `"split":{"validation":`, `"split":{"validation":9`), "split"},
		"a network of other shape": {func(m map[string]string) { swapStrategy(t, m) }, "its strategy describes"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := train.Decode(bytes.NewReader(rewrite(t, file, c.change)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("err = %v, want one that says %q", err, c.want)
			}
		})
	}
}

// swapStrategy puts in a strategy with a wider network, hash and all.
func swapStrategy(t *testing.T, meta map[string]string) {
	t.Helper()
	wide := lab{model: "{type: mlp, architecture: {hidden_layers: [9], dropout: 0.2}}"}
	file := encode(t, model(t, wide, synth(t, "AAA", 700, 3, 0)))
	m, err := neural.ReadModel(bytes.NewReader(file), 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"ktrdr.strategy", "ktrdr.strategy_hash"} {
		meta[key] = m.Metadata[key]
	}
}

// FuzzDecode: whatever the bytes, no panic, and what is accepted is written
// again as it was read.
func FuzzDecode(f *testing.F) {
	file := encode(f, model(f, lab{}, synth(f, "AAA", 700, 3, 0)))
	f.Add(file)
	f.Add(file[:len(file)/2])
	header := int(binary.LittleEndian.Uint64(file))
	f.Add(file[:8+header])
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := train.Decode(bytes.NewReader(b))
		if err != nil {
			return
		}
		again, err := train.Decode(bytes.NewReader(encode(t, m)))
		if err != nil {
			t.Fatalf("written again it is refused: %v", err)
		}
		if !bytes.Equal(encode(t, again), encode(t, m)) {
			t.Fatal("written twice it differs")
		}
	})
}

// FuzzRestore: whatever the bytes, no panic, and what is accepted is stored and
// restored again as it is.
func FuzzRestore(f *testing.F) {
	s := lab{epochs: 2, training: "  early_stopping: {patience: 1}"}.parse(f)
	ds := prepare(f, s, synth(f, "AAA", 400, 3, 0))
	r := start(f, ds, s, 1)
	carry(f, r, 3)
	f.Add(store(f, r))
	carry(f, r, -1)
	f.Add(store(f, r))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, state := range [][]byte{b, train.Seal(b)} {
			r, err := train.Restore(ds, s, 1, neural.Best(), state)
			if err != nil {
				continue
			}
			r.Progress()
			once := store(t, r)
			again, err := train.Restore(ds, s, 1, neural.Best(), once)
			if err != nil {
				t.Fatalf("stored again it is refused: %v", err)
			}
			if !bytes.Equal(store(t, again), once) {
				t.Fatal("stored twice it differs")
			}
		}
	})
}
