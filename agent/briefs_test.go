package agent_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/agent"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/worker"
)

type noMemory struct{}

func (noMemory) Recall(context.Context, research.View) (research.Past, error) {
	return research.Past{}, nil
}

// barsFile holds bars that tasks read. The first reads fail.
type barsFile struct {
	file  []byte
	fails int64
	reads atomic.Int64
}

func (c *barsFile) open(context.Context, ktrdr.Hash) (io.ReadCloser, error) {
	if c.reads.Add(1) <= c.fails {
		return nil, errors.New("the store is away")
	}
	return io.NopCloser(bytes.NewReader(c.file)), nil
}

// designSpec is that of a design, with the bars that it reads.
func designSpec(t *testing.T, index int, costs instrument.Costs) (json.RawMessage, *barsFile) {
	t.Helper()
	b := market.Synth(small)
	var file bytes.Buffer
	if err := market.Encode(&file, b); err != nil {
		t.Fatal(err)
	}
	brief := designer.Chosen{}.Read("EURUSD 1h", designer.Known{
		Series: []designer.KnownSeries{{Symbol: b.Symbol, Timeframe: b.Timeframe, Bars: b.Len()}},
	})
	spec, err := json.Marshal(research.DesignSpec{
		Understanding: brief, Model: research.Builtin, Seed: 1, Costs: costs,
		RunPosition: research.RunPosition{Run: "run_1", Index: index},
		Bars: []jobs.Bars{{Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: b.Hash(), Artifact: ktrdr.Artifact{
			Name: "bars" + market.Suffix, SHA256: ktrdr.Hash(sha256.Sum256(file.Bytes())), Size: int64(file.Len()),
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return spec, &barsFile{file: file.Bytes()}
}

func designed(t *testing.T, r worker.Runner, spec json.RawMessage, bars *barsFile) (research.Design, error) {
	t.Helper()
	var d research.Design
	result, _, err := worker.Replay(t.Context(), r, ktrdr.Task{
		Operation: "op_agent_design_20000101_000000_00000000", Type: ktrdr.AgentDesign, Epoch: 1, Attempts: 1, Spec: spec,
	}, bars.open)
	if err == nil {
		err = json.Unmarshal(result, &d)
	}
	return d, err
}

// All designs of a run measure the same bars: they are read once, also by designs that
// begin at the same time. Other costs are measured again, and what was kept changes no design.
func TestDesigns_OfARunMeasureTheBarsOnce(t *testing.T) {
	r := agent.DesignRunner(noMemory{}, agent.ModelAccess{})
	_, bars := designSpec(t, 0, instrument.Costs{})
	var wg sync.WaitGroup
	for index := range 4 {
		spec, own := designSpec(t, index, instrument.Costs{Commission: 0.0001})
		wg.Go(func() {
			got, err := designed(t, r, spec, bars)
			if err != nil {
				t.Error(err)
			}
			alone, err := designed(t, agent.DesignRunner(noMemory{}, agent.ModelAccess{}), spec, own)
			if err != nil || got.Strategy != alone.Strategy || got.Strategy == "" {
				t.Errorf("design %d is\n%s\nand by a runner of its own\n%s\n%v", index, got.Strategy, alone.Strategy, err)
			}
		})
	}
	wg.Wait()
	if n := bars.reads.Load(); n != 1 {
		t.Errorf("the bars were read %d times, want once", n)
	}
	spec, _ := designSpec(t, 0, instrument.Costs{Commission: 0.0002})
	if _, err := designed(t, r, spec, bars); err != nil || bars.reads.Load() != 2 {
		t.Errorf("with other costs: %d reads, %v; want one more", bars.reads.Load(), err)
	}
}

// What could not be measured is measured again.
func TestDesigns_AMeasurementThatFailedIsNotKept(t *testing.T) {
	r := agent.DesignRunner(noMemory{}, agent.ModelAccess{})
	spec, bars := designSpec(t, 0, instrument.Costs{Commission: 0.0001})
	bars.fails = 1
	if _, err := designed(t, r, spec, bars); err == nil {
		t.Fatal("bars that cannot be read gave a design")
	}
	if d, err := designed(t, r, spec, bars); err != nil || d.Strategy == "" {
		t.Errorf("the second time: %v", err)
	}
}
