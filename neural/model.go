package neural

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
)

// Model is a trained network and what its user must know: strategy, data,
// features, normalisation. Its file is a safetensors file, which other tools read:
// 8 bytes with the length of a JSON header, the header, the weights as F32 under
// torch's names. All but the weights is in the header's metadata, as strings.
type Model struct {
	Net      *Net
	Metadata map[string]string
}

// The metadata that WriteModel writes and ReadModel takes away again.
const (
	metaNetwork  = "ktrdr.network"
	metaNumerics = "ktrdr.numerics"
	metaClass    = "ktrdr.kernel_class"
	metaDigest   = "ktrdr.sha256" // of the other metadata and the weights: a changed bit would be another model
)

const maxHeader = 4 << 20

type fileTensor struct {
	DType   string    `json:"dtype"`
	Shape   []int     `json:"shape"`
	Offsets [2]uint64 `json:"data_offsets"`
}

// WriteModel writes a model file. The same model gives the same bytes.
func WriteModel(w io.Writer, m Model) error {
	if err := writeModel(w, m); err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	return nil
}

func writeModel(w io.Writer, m Model) error {
	weights := m.Net.layout.appendBytes(nil, m.Net.w)
	header, err := m.header(weights)
	if err != nil {
		return err
	}
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	_, err = w.Write(slices.Concat(b, header, weights))
	return err
}

// digest is what metaDigest must be beside the other metadata and the weights.
func digest(meta map[string]string, weights []byte) string {
	h := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		if key != metaDigest {
			fmt.Fprintf(h, "%d %s %d %s\n", len(key), key, len(meta[key]), meta[key])
		}
	}
	h.Write(weights)
	return hex.EncodeToString(h.Sum(nil))
}

// header is the JSON header, padded with spaces to a multiple of 8 bytes.
func (m Model) header(weights []byte) ([]byte, error) {
	network, err := json.Marshal(m.Net.spec)
	if err != nil {
		return nil, err
	}
	meta := maps.Clone(m.Metadata)
	if meta == nil {
		meta = map[string]string{}
	}
	for key, value := range map[string]string{
		metaNetwork: string(network), metaNumerics: Numerics, metaClass: m.Net.kernel.class, metaDigest: "",
	} {
		if _, taken := meta[key]; taken {
			return nil, fmt.Errorf("the metadata key %q is this program's own; use another", key)
		}
		meta[key] = value
	}
	meta[metaDigest] = digest(meta, weights)
	entries := map[string]any{"__metadata__": meta}
	at := uint64(0)
	for _, t := range m.Net.layout.tensors {
		end := at + 4*uint64(t.count())
		entries[t.name] = fileTensor{"F32", t.shape(), [2]uint64{at, end}}
		at = end
	}
	header, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	header = append(header, bytes.Repeat([]byte{' '}, padTo(len(header), 8)-len(header))...)
	if len(header) > maxHeader {
		return nil, fmt.Errorf("the header takes %d bytes; the most are %d: shorten the metadata", len(header), maxHeader)
	}
	return header, nil
}

// ReadModel reads a model file that WriteModel wrote, of at most limit bytes. The
// network runs on the fastest kernel that gives the bits of the one it was trained
// with. Nothing is allocated that the limit does not cover, and a file that is not
// exactly what it says it is gives an error.
func ReadModel(r io.Reader, limit int64) (Model, error) {
	m, err := readModel(&io.LimitedReader{R: r, N: limit})
	if err != nil {
		return Model{}, fmt.Errorf("read model: %w", err)
	}
	return m, nil
}

func readModel(r *io.LimitedReader) (Model, error) {
	var head [8]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Model{}, fmt.Errorf("the file ends before its header: %w", err)
	}
	size := binary.LittleEndian.Uint64(head[:])
	if size > maxHeader || int64(size) > r.N {
		return Model{}, fmt.Errorf("a header of more than %d bytes, as no model file has", min(maxHeader, r.N))
	}
	header := make([]byte, size)
	if _, err := io.ReadFull(r, header); err != nil {
		return Model{}, fmt.Errorf("the file ends inside its header: %w", err)
	}
	meta, tensors, err := parseHeader(header)
	if err != nil {
		return Model{}, err
	}
	n, err := netFor(meta, r.N)
	if err != nil {
		return Model{}, err
	}
	data := make([]byte, 4*n.layout.count)
	if _, err := io.ReadFull(r, data); err != nil {
		return Model{}, fmt.Errorf("the file ends inside its weights: %w", err)
	}
	if k, _ := io.ReadFull(r, head[:1]); k > 0 || r.N == 0 && hasMore(r.R) {
		return Model{}, errors.New("there are bytes behind the weights")
	}
	if err := n.place(tensors, data); err != nil {
		return Model{}, err
	}
	if meta[metaDigest] != digest(meta, data) {
		return Model{}, errors.New("the file is damaged: its weights and metadata do not have the sha256 that it names; copy it again")
	}
	for _, key := range []string{metaNetwork, metaNumerics, metaClass, metaDigest} {
		delete(meta, key)
	}
	return Model{n, meta}, nil
}

func hasMore(r io.Reader) bool {
	n, _ := io.ReadFull(r, make([]byte, 1))
	return n > 0
}

// parseHeader reads the header: each name once, nothing unknown.
func parseHeader(header []byte) (meta map[string]string, tensors map[string]fileTensor, err error) {
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, nil, errors.New("the header is not a JSON object")
	}
	tensors = map[string]fileTensor{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, nil, fmt.Errorf("header: %w", err)
		}
		name, _ := t.(string)
		if name == "__metadata__" {
			if meta != nil {
				return nil, nil, errors.New("the header has its metadata twice")
			}
			if err := d.Decode(&meta); err != nil {
				return nil, nil, fmt.Errorf("header: metadata: %w", err)
			}
			continue
		}
		if _, twice := tensors[name]; twice {
			return nil, nil, fmt.Errorf("the header has %q twice", name)
		}
		var f fileTensor
		if err := d.Decode(&f); err != nil {
			return nil, nil, fmt.Errorf("header: %q: %w", name, err)
		}
		tensors[name] = f
	}
	if _, err := d.Token(); err != nil {
		return nil, nil, fmt.Errorf("header: %w", err)
	}
	if rest := bytes.TrimRight(header[d.InputOffset():], " "); len(rest) > 0 {
		return nil, nil, errors.New("there is more than one JSON object in the header")
	}
	return meta, tensors, nil
}

// netFor makes the network that the metadata describe, if its weights fit into what is left of the file.
func netFor(meta map[string]string, left int64) (*Net, error) {
	if _, ours := meta[metaNumerics]; !ours {
		return nil, errors.New("it is a safetensors file of another program: only models that ktrdr trained can be used")
	}
	if got := meta[metaNumerics]; got != Numerics {
		return nil, fmt.Errorf("its numerics version is %q and this program's is %q", got, Numerics)
	}
	k, err := KernelFor(meta[metaClass])
	if err != nil {
		return nil, err
	}
	var s Spec
	d := json.NewDecoder(bytes.NewReader([]byte(meta[metaNetwork])))
	d.DisallowUnknownFields()
	if err := d.Decode(&s); err != nil {
		return nil, fmt.Errorf("metadata %s: %w", metaNetwork, err)
	}
	if err := s.Check(); err != nil {
		return nil, err
	}
	if need := 4 * s.params(); need > left {
		return nil, fmt.Errorf("the weights of %s take %d bytes and the limit leaves %d", s, need, left)
	}
	return empty(s, k)
}

// place puts the tensors of a file into the slab: all that the network has, no others, and side by side.
func (n *Net) place(tensors map[string]fileTensor, data []byte) error {
	if len(tensors) != len(n.layout.tensors) {
		return fmt.Errorf("there are %d tensors and %s has %d", len(tensors), n.spec, len(n.layout.tensors))
	}
	at := uint64(0)
	byOffset := slices.SortedFunc(maps.Values(tensors), func(a, b fileTensor) int {
		return cmp.Compare(a.Offsets[0], b.Offsets[0])
	})
	for _, f := range byOffset {
		if f.Offsets[0] != at || f.Offsets[1] <= at {
			return fmt.Errorf("tensors do not lie side by side: one begins at byte %d, the one before ends at %d", f.Offsets[0], at)
		}
		at = f.Offsets[1]
	}
	if at != uint64(len(data)) {
		return fmt.Errorf("the tensors take %d bytes, want %d", at, len(data))
	}
	for _, t := range n.layout.tensors {
		f, ok := tensors[t.name]
		switch {
		case !ok:
			return fmt.Errorf("tensor %q is missing", t.name)
		case f.DType != "F32" || !slices.Equal(f.Shape, t.shape()):
			return fmt.Errorf("tensor %q is %s %v, want F32 %v", t.name, f.DType, f.Shape, t.shape())
		case f.Offsets[1]-f.Offsets[0] != 4*uint64(t.count()):
			return fmt.Errorf("tensor %q takes %d bytes, want %d", t.name, f.Offsets[1]-f.Offsets[0], 4*t.count())
		}
		if err := t.fromBytes(n.w, data[f.Offsets[0]:f.Offsets[1]]); err != nil {
			return err
		}
	}
	return nil
}
