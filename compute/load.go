package compute

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
	"github.com/ktrdr/ktrdr/worker"
)

// LoadRunner runs imports into a library and assigns each series to its market.
// It is for workers inside a backend: only those reach the library. The share is
// that of ServiceConfig.Holdout.
// instruments reads the file of instruments; nil: the lab has no such file.
func LoadRunner(l *library.Library, m *library.Markets, share float64,
	instruments func(context.Context) (instrument.File, error),
) worker.Runner {
	return loadRunner{l, m, share, instruments}
}

type loadRunner struct {
	library *library.Library
	markets *library.Markets
	holdout float64

	instruments func(context.Context) (instrument.File, error)
}

// Run imports the file. There is no checkpoint: the result is stored with the
// bars, and an import that is run again after that answers with it.
func (r loadRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	if result, err := r.Concluded(ctx, t); err != nil || result != nil {
		return result, err // also where the file cannot be read any more
	}
	spec, bars, report, err := readLoad(ctx, t)
	if err != nil {
		return nil, err
	}
	return r.store(ctx, t, spec, bars, report)
}

// Concluded implements worker.Concluder for an import that has stored its bars.
func (r loadRunner) Concluded(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	return r.library.ImportResult(ctx, t.Operation)
}

func (r loadRunner) store(ctx context.Context, t *worker.Task, spec jobs.LoadSpec, bars *market.Bars,
	report market.DataReport,
) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t.Progress(ktrdr.Progress{CurrentStep: "comparing with known markets"})
	about, err := r.about(ctx, bars.Symbol)
	if err != nil {
		return nil, err
	}
	if spec.DryRun {
		return r.dryRun(ctx, spec, bars, report, about)
	}
	done, err := r.library.Import(ctx, library.Import{
		Bars: bars, Mode: spec.Mode, Origin: ktrdr.BarsFromFile, Source: spec.Source.Name, MadeUp: new(false),
		Record: library.RecordOf(report, spec.Adjusted), Instrument: about, Markets: r.markets,
		Choice: library.Choice{SameAs: spec.SameMarketAs, New: spec.NewMarket}, Holdout: r.holdout,
		By: &library.Importer{Operation: t.Operation, Epoch: t.Epoch, Result: func(done library.Imported) (json.RawMessage, error) {
			return json.Marshal(loadResult(done, report))
		}},
	})
	return done.Result, err
}

// about is what the file of instruments says of a symbol.
func (r loadRunner) about(ctx context.Context, symbol string) (about instrument.Instrument, err error) {
	if r.instruments == nil {
		return about, nil
	}
	file, err := r.instruments(ctx)
	if err != nil {
		return about, wrong("correct %s: %w", instrument.FileName, err)
	}
	return file.Find(symbol), nil
}

func loadResult(done library.Imported, report market.DataReport) jobs.LoadResult {
	return jobs.LoadResult{
		Summary: loaded(done, report), Entry: done.Entry, Hash: done.Entry.Hash, Report: report, Replaced: done.Replaced, Merged: done.Merged,
		Market: done.Market.ID, Reason: done.Reason, Question: done.Question,
	}
}

// dryRun tells what an import would do. It stores nothing.
func (r loadRunner) dryRun(ctx context.Context, spec jobs.LoadSpec, bars *market.Bars, report market.DataReport,
	about instrument.Instrument,
) (json.RawMessage, error) {
	n := bars.Len()
	out := jobs.LoadResult{
		DryRun: true, Hash: bars.Hash(), Report: report, Entry: jobs.SeriesInfo{
			Symbol: bars.Symbol, Timeframe: bars.Timeframe, Hash: bars.Hash(), Bars: n, First: bars.Time[0], Last: bars.Time[n-1],
			Origin: ktrdr.BarsFromFile, Source: spec.Source.Name, MadeUp: new(false),
		},
	}
	would, err := r.library.WouldImport(ctx, library.Import{
		Bars: bars, Mode: spec.Mode, Instrument: about, Markets: r.markets, Holdout: r.holdout,
		Choice: library.Choice{SameAs: spec.SameMarketAs, New: spec.NewMarket},
	})
	if err != nil {
		return nil, err
	}
	out.Entry.Findings, out.Entry.Accepted = would.Findings, would.Accepted
	out.Replaced, out.Merged, out.Refused, out.Question = would.Was, would.Merged, would.Refused, would.Question
	out.Summary = told(out.Entry, report) + doubts(out.Entry) + "; nothing was stored"
	if out.Merged != nil {
		out.Summary += fmt.Sprintf("; %s, %s", added(out.Merged), changed(out.Merged))
	}
	if wrong := report.Wrong(); !spec.Normalise && wrong > 0 {
		out.Refused = (&market.InvalidError{Report: report}).Error()
	}
	return json.Marshal(out)
}

// readPrices reads a price file: by way of a temporary file, since a Parquet
// file is read from anywhere in it and may be large. The file loses its name
// before it is filled, so that it is gone with the process, however that ends.
func readPrices(ctx context.Context, t *worker.Task, source ktrdr.Artifact,
	opt market.ImportOptions,
) (*market.Bars, market.DataReport, error) {
	r, err := t.Open(ctx, source)
	if err != nil {
		return nil, market.DataReport{}, err
	}
	defer func() { _ = r.Close() }() // read to its end, where its hash is compared
	f, err := os.CreateTemp("", "ktrdr-import-")
	if err != nil {
		return nil, market.DataReport{}, fmt.Errorf("place for %s: %w", source.Name, err)
	}
	defer f.Close()
	if err = os.Remove(f.Name()); err == nil {
		_, err = io.Copy(f, r)
	}
	if err != nil {
		return nil, market.DataReport{}, fmt.Errorf("%s: %w", source.Name, err)
	}
	fault.Hit(fault.ImportCopied)
	return market.ReadOpen(ctx, f, opt)
}

func loaded(done library.Imported, r market.DataReport) string {
	p, said := done.Placement, told(done.Entry, r)+doubts(done.Entry)
	if m := done.Merged; m != nil {
		said += fmt.Sprintf("; %d added, %s, %d as before", m.Added, changed(m), m.Same+m.Kept)
	}
	if p.Question != "" {
		return said + "; market undecided: " + p.Question
	}
	return said + "; market " + p.Market.ID + ": " + p.Reason
}

// doubts says which severe findings keep research from a series.
func doubts(e jobs.SeriesInfo) string {
	open := e.Unaccepted()
	if len(open) == 0 {
		return ""
	}
	said := text.Map(open, func(f quality.ContentFinding) string { return string(f.Rule) })
	return "; no research begins on it until a person accepts: " + strings.Join(said, ", ")
}

func added(m *market.Merged) string {
	said := text.Counted(m.Added, "new bar")
	if m.AddedInHoldout > 0 {
		said += fmt.Sprintf(" (%d after the holdout begins)", m.AddedInHoldout)
	}
	return said
}

func changed(m *market.Merged) string {
	said := fmt.Sprintf("%d changed", m.Changed)
	if m.InHoldout > 0 {
		said += fmt.Sprintf(" (%d of them in the holdout)", m.InHoldout)
	}
	return said
}

// told names a series and the time that it spans.
func told(e jobs.SeriesInfo, r market.DataReport) string {
	day := func(t int64) string { return time.Unix(t, 0).UTC().Format(time.DateOnly) }
	said := fmt.Sprintf("%d bars of %s %s, %s to %s", e.Bars, e.Symbol, e.Timeframe, day(e.First), day(e.Last))
	if r.Dropped > 0 {
		said += fmt.Sprintf("; %s left out", text.Counted(r.Dropped, "row"))
	}
	return said
}
