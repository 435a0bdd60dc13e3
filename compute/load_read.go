package compute

import (
	"bytes"
	"context"
	"encoding/json"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/worker"
)

// ReadRunner does the part of an import that needs no library: it reads the
// file. It is for the child process of a backend, which stores what was read.
func ReadRunner() worker.Runner { return readRunner{} }

type readRunner struct{}

// barsRead is the file of a read import's checkpoint that holds its bars.
const barsRead = "bars"

// Run reads the file and ends with its report; the bars are a file beside it.
func (readRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	_, bars, report, err := readLoad(ctx, t)
	if err != nil {
		return nil, err
	}
	var file bytes.Buffer
	if err := market.Encode(&file, bars); err != nil {
		return nil, err
	}
	if err := t.Final(0, struct{}{}, worker.File{Name: barsRead, Bytes: file.Bytes()}); err != nil {
		return nil, err
	}
	return json.Marshal(report)
}

// Conclude implements worker.Concluder: it stores what a child process read.
func (r loadRunner) Conclude(ctx context.Context, t *worker.Task, result json.RawMessage,
	final *worker.Checkpoint,
) (json.RawMessage, error) {
	spec, err := ktrdr.ParseSpec[jobs.LoadSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	var report market.DataReport
	if err := json.Unmarshal(result, &report); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInternal, "report of the child process: %w", err)
	}
	var of ktrdr.Artifact
	for _, a := range final.Artifacts {
		if a.Name == barsRead {
			of = a
		}
	}
	f, err := final.Open(ctx, barsRead)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := library.ReadVerified(f, of)
	if err != nil {
		return nil, err
	}
	bars, err := market.Decode(data)
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "bars of the child process: %w", err)
	}
	return r.store(ctx, t, spec, bars, report)
}

func readLoad(ctx context.Context, t *worker.Task) (jobs.LoadSpec, *market.Bars, market.DataReport, error) {
	spec, err := ktrdr.ParseSpec[jobs.LoadSpec](t.Spec)
	if err != nil {
		return spec, nil, market.DataReport{}, err
	}
	t.Progress(ktrdr.Progress{CurrentStep: "reading " + spec.Source.Name})
	opt := market.ImportOptions{
		Source: spec.Source.Name, Symbol: spec.Symbol, Timeframe: spec.Timeframe, Divide: spec.Divide, Dates: spec.Dates, Adjusted: spec.Adjusted,
	}
	if opt.Decimal, err = market.ParseDecimal(spec.Decimal); err != nil {
		return spec, nil, market.DataReport{}, err
	}
	if spec.Zone != "" {
		if opt.Zone, err = time.LoadLocation(spec.Zone); err != nil {
			return spec, nil, market.DataReport{}, err
		}
	}
	if spec.Normalise || spec.DryRun { // a dry run reports all that is wrong
		opt.Mode = market.Normalise
	}
	bars, report, err := readPrices(ctx, t, spec.Source, opt)
	return spec, bars, report, err
}
