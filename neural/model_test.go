package neural

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func modelBytes(t fataler, m Model) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteModel(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestModelFilesComeBackAsTheyWere(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		k := rapid.SampledFrom(Kernels()).Draw(rt, "kernel")
		n, err := New(drawSpec(rt, 40), rapid.Uint64().Draw(rt, "seed"), k)
		if err != nil {
			rt.Fatal(err)
		}
		meta := map[string]string{"strategy": "name: a\nversion: \"3.0\"", "features": `["x"]`}
		b := modelBytes(rt, Model{n, meta})
		m, err := ReadModel(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			rt.Fatal(err)
		}
		if !slices.Equal(m.Net.w, n.w) || m.Net.kernel.class != n.kernel.class || !maps.Equal(m.Metadata, meta) {
			rt.Fatal("the model that was read is not the one that was written")
		}
		if !bytes.Equal(modelBytes(rt, m), b) {
			rt.Fatal("written again, it is another file")
		}
	})
}

// edit changes the header of a model file.
func edit(t *testing.T, file []byte, change func(header map[string]any)) []byte {
	t.Helper()
	n := binary.LittleEndian.Uint64(file)
	var h map[string]any
	if err := json.Unmarshal(file[8:8+n], &h); err != nil {
		t.Fatal(err)
	}
	change(h)
	header, err := json.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Concat(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header, file[8+n:])
}

func TestModelFilesThatLieAreRefused(t *testing.T) {
	n, err := New(Spec{Type: MLP, Inputs: 3, Outputs: 2, Hidden: []int{4}}, 1, Kernel{})
	if err != nil {
		t.Fatal(err)
	}
	good := modelBytes(t, Model{Net: n})
	meta := func(h map[string]any) map[string]any { return h["__metadata__"].(map[string]any) }
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":              {nil, "before its header"},
		"cut in the header":  {good[:20], "inside its header"},
		"cut in the weights": {good[:len(good)-1], "inside its weights"},
		"a byte too many":    {append(slices.Clone(good), 0), "behind the weights"},
		"a header of 2^63":   {append([]byte{0, 0, 0, 0, 0, 0, 0, 128}, good[8:]...), "a header of"},
		"not JSON":           {append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, "xx"...), "not a JSON object"},
		"two objects":        {append([]byte{5, 0, 0, 0, 0, 0, 0, 0}, "{} {}"...), "more than one JSON object"},
		"a tensor twice":     {append([]byte{15, 0, 0, 0, 0, 0, 0, 0}, `{"a":{},"a":{}}`...), `"a" twice`},
		"another numerics":   {edit(t, good, func(h map[string]any) { meta(h)[metaNumerics] = "neural/0" }), "numerics version"},
		"an unknown class":   {edit(t, good, func(h map[string]any) { meta(h)[metaClass] = "gpu/1" }), "gpu/1"},
		"a network too large": {
			edit(t, good, func(h map[string]any) { meta(h)[metaNetwork] = `{"type":"mlp","inputs":9999,"outputs":999}` }),
			"the limit leaves",
		},
		"an unknown field":     {edit(t, good, func(h map[string]any) { meta(h)[metaNetwork] = `{"type":"mlp","depth":1}` }), "unknown field"},
		"a tensor is missing":  {edit(t, good, func(h map[string]any) { delete(h, "0.bias") }), "3 tensors"},
		"a tensor is too many": {edit(t, good, func(h map[string]any) { h["9.bias"] = h["0.bias"] }), "5 tensors"},
		"a tensor is renamed":  {edit(t, good, func(h map[string]any) { h["9.bias"] = h["0.bias"]; delete(h, "0.bias") }), "missing"},
		"another type":         {edit(t, good, func(h map[string]any) { h["0.bias"].(map[string]any)["dtype"] = "F16" }), "F16"},
		"tensors that overlap": {
			edit(t, good, func(h map[string]any) { h["0.bias"].(map[string]any)["data_offsets"] = []int{0, 16} }),
			"side by side",
		},
		"offsets past the end": {
			edit(t, good, func(h map[string]any) { h["2.bias"].(map[string]any)["data_offsets"] = []int{96, 1 << 40} }),
			"the tensors take",
		},
		"a weight that is NaN": {append(slices.Clone(good[:len(good)-4]), 0, 0, 192, 127), "NaN"},
		"another shape":        {edit(t, good, func(h map[string]any) { h["0.weight"].(map[string]any)["shape"] = []int{3, 4} }), "want F32"},
	} {
		_, err := ReadModel(bytes.NewReader(c.file), 1<<20)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one that says %q", name, err, c.want)
		}
	}
	if _, err := ReadModel(bytes.NewReader(good), int64(len(good)-1)); err == nil {
		t.Error("a file longer than the limit was read")
	}
	if err := WriteModel(&bytes.Buffer{}, Model{n, map[string]string{metaClass: "x"}}); err == nil {
		t.Error("metadata under a key of our own were written")
	}
}

// TestReadModel_NoBitMayChange flips a bit of each byte in turn: what is still
// read must be the same model, spelt otherwise.
func TestReadModel_NoBitMayChange(t *testing.T) {
	n, err := New(Spec{Type: "mlp", Inputs: 3, Outputs: 2, Hidden: []int{4}, Activation: "relu"}, 1, Best())
	if err != nil {
		t.Fatal(err)
	}
	file := modelBytes(t, Model{n, map[string]string{"norm": `{"mean":[0.5]}`}})
	for i := range file {
		b := slices.Clone(file)
		b[i] ^= 1 << (i % 8)
		m, err := ReadModel(bytes.NewReader(b), int64(len(b)))
		if err == nil && !bytes.Equal(modelBytes(t, m), file) {
			t.Fatalf("with another bit in byte %d of %d another model was read", i, len(file))
		}
	}
}

func TestReadModel_SaysWhoseFileItIs(t *testing.T) {
	header := `{"__metadata__":{"format":"pt"},"w":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	file = append(append(file, header...), 0, 0, 0, 0)
	if _, err := ReadModel(bytes.NewReader(file), 1<<20); err == nil || !strings.Contains(err.Error(), "of another program") {
		t.Errorf("err = %v, want that it is of another program", err)
	}
}

func FuzzReadModel(f *testing.F) {
	for _, s := range []Spec{
		{Type: MLP, Inputs: 3, Outputs: 2, Hidden: []int{4}},
		{Type: GRU, Inputs: 2, Outputs: 2, HiddenSize: 3, Layers: 1, SequenceLength: 2},
	} {
		n, err := New(s, 1, Kernel{})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(modelBytes(f, Model{n, map[string]string{"a": "b"}}))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := ReadModel(bytes.NewReader(b), 1<<20)
		if err != nil {
			return
		}
		again := modelBytes(t, m)
		back, err := ReadModel(bytes.NewReader(again), 1<<20)
		if err != nil || !slices.Equal(back.Net.w, m.Net.w) || !maps.Equal(back.Metadata, m.Metadata) {
			t.Fatalf("a model that was read does not come back: %v", err)
		}
	})
}

func FuzzRestore(f *testing.F) {
	spec := Spec{Type: MLP, Inputs: 3, Outputs: 2, Hidden: []int{4}}
	tr := newTrainer(f, spec, TrainSpec{}, Kernel{})
	f.Add(state(f, tr))
	f.Fuzz(func(t *testing.T, b []byte) {
		tr := newTrainer(t, spec, TrainSpec{}, Kernel{})
		before := state(t, tr)
		if err := tr.Restore(b); err != nil {
			if !bytes.Equal(before, state(t, tr)) {
				t.Fatal("a state that was refused changed the trainer")
			}
			return
		}
		if !bytes.Equal(b[len(b)-12*tr.net.layout.count:], state(t, tr)[len(before)-12*tr.net.layout.count:]) {
			t.Fatal("a state that was restored is not the trainer's")
		}
	})
}
