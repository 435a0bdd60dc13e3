package train

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/ktrdr/ktrdr/feature"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/metrics"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
)

// TrainedModel is a trained network with all that is needed to ask it: the strategy it
// was trained for, the normalisation of its inputs, and where it comes from.
// Its file is a safetensors file; see neural.WriteModel.
type TrainedModel struct {
	Net      *neural.Net
	Strategy *strategy.Strategy
	Info     Info
}

// Info is what a model knows of its making.
type Info struct {
	Numerics    string           `json:"numerics"`     // versions of the arithmetic
	KernelClass string           `json:"kernel_class"` // of the kernels it was trained with, and runs on
	Seed        uint64           `json:"seed,string"`
	Features    []string         `json:"features"`
	Norm        feature.Norm     `json:"norm"`
	Unit        Unit             `json:"target_unit,omitempty"` // of a regression: what the network counts returns in
	Sources     []metrics.Source `json:"sources"`
	Context     []metrics.Source `json:"context_sources,omitempty"` // bars of context symbols that were read
	Split       metrics.Split    `json:"split"`                     // bars before Split.Test are not out of sample
	Metrics     metrics.Metrics  `json:"metrics"`
}

// The metadata of a model file.
const (
	metaStrategy = "ktrdr.strategy"
	metaHash     = "ktrdr.strategy_hash"
	metaInfo     = "ktrdr.model"
)

// maxModel bounds a model file: the largest network of the grammar takes 16 MB.
const maxModel = 64 << 20

// Encode writes the model file. The same model gives the same bytes. The
// history of the training, which may be long, is left out.
func (m *TrainedModel) Encode(w io.Writer) error {
	info := m.Info
	info.Metrics.Training.History = metrics.History{}
	b, err := json.Marshal(info)
	if err != nil {
		return fmt.Errorf("write model: %w", err)
	}
	return neural.WriteModel(w, neural.Model{Net: m.Net, Metadata: map[string]string{
		metaStrategy: string(m.Strategy.YAML()),
		metaHash:     fmt.Sprintf("%x", m.Strategy.Hash()),
		metaInfo:     string(b),
	}})
}

// Decode reads a model file that Encode wrote. It refuses one of another version
// of the arithmetic, and one whose parts do not belong together.
func Decode(r io.Reader) (*TrainedModel, error) {
	file, err := neural.ReadModel(r, maxModel)
	if err != nil {
		return nil, err
	}
	m := &TrainedModel{Net: file.Net}
	if err := m.decode(file.Metadata); err != nil {
		return nil, fmt.Errorf("read model: %w", err)
	}
	return m, nil
}

// On is the model on another kernel of its class: the same answers, bit for bit.
func (m *TrainedModel) On(k neural.Kernel) (*TrainedModel, error) {
	net, err := m.Net.On(k)
	if err != nil {
		return nil, fmt.Errorf("model of strategy %s: %w", m.Strategy.Name, err)
	}
	moved := *m
	moved.Net = net
	return &moved, nil
}

func (m *TrainedModel) decode(meta map[string]string) error {
	d := json.NewDecoder(bytes.NewReader([]byte(meta[metaInfo])))
	d.DisallowUnknownFields()
	if err := d.Decode(&m.Info); err != nil {
		return fmt.Errorf("its description: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows its description")
	}
	if m.Info.Numerics != versions() {
		return fmt.Errorf("it was made with the arithmetic %q, and this program has %q: its answers would be others; train it again, or use the "+
			"program that made it", m.Info.Numerics, versions())
	}
	s, _, err := strategy.Parse([]byte(meta[metaStrategy]), "strategy of the model")
	if err != nil {
		return err
	}
	m.Strategy = s
	if got := fmt.Sprintf("%x", s.Hash()); got != meta[metaHash] {
		return fmt.Errorf("the hash of its strategy is %s, not %s as it says", got, meta[metaHash])
	}
	return m.check()
}

// check refuses parts that do not belong together.
func (m *TrainedModel) check() error {
	features := text.Strings(m.Strategy.Features())
	if !slices.Equal(features, m.Info.Features) {
		return fmt.Errorf("its features are %v, and its strategy has %v", m.Info.Features, features)
	}
	if class := m.Net.Kernel().Class(); class != m.Info.KernelClass {
		return fmt.Errorf("its network is of kernel class %s, not %s as it says", class, m.Info.KernelClass)
	}
	for _, scale := range m.Info.Norm.Scales {
		if scale.Column < 0 || scale.Column >= len(features) || features[scale.Column] != scale.Feature || !(scale.Unit > 0) {
			return fmt.Errorf("its normalisation %+v is of no feature", scale)
		}
	}
	if err := m.Info.Unit.check(m.Strategy); err != nil {
		return err
	}
	if err := checkSplit(m.Info.Split); err != nil {
		return err
	}
	if got, want := m.Net.Spec().String(), network(m.Strategy, len(features)).String(); got != want {
		return fmt.Errorf("its network is %s, and its strategy describes %s", got, want)
	}
	return nil
}
