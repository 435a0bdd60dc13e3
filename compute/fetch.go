package compute

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/worker"
)

// FetchRunner fetches bars from a source and adds them to a library as an import does.
// It is for workers inside a backend: only those reach the library.
func FetchRunner(l *library.Library, m *library.Markets, share float64, f *fetch.Fetcher,
	instruments func(context.Context) (instrument.File, error),
) worker.Runner {
	return fetchRunner{loadRunner{l, m, share, instruments}, f}
}

// fetchRunner fetches piece after piece, and adds what it has at the end.
//
//	piece ──▶ checkpoint (bars so far, next piece) ──▶ … ──▶ library, with the result
type fetchRunner struct {
	loadRunner

	fetcher *fetch.Fetcher
}

// Run fetches what the checkpoint does not have.
func (r fetchRunner) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	if result, err := r.Concluded(ctx, t); err != nil || result != nil {
		return result, err
	}
	got, err := fetchAll(ctx, t, r.fetcher)
	if err != nil {
		return nil, err
	}
	return r.add(ctx, t, got)
}

// Conclude implements worker.Concluder: it adds what a child process fetched.
func (r fetchRunner) Conclude(ctx context.Context, t *worker.Task, _ json.RawMessage, final *worker.Checkpoint) (json.RawMessage, error) {
	got, err := restoreFetched(ctx, final)
	if err != nil {
		return nil, err
	}
	return r.add(ctx, t, got)
}

// FetchOnlyRunner does the part of a fetch that needs no library. It is for the child
// process of a backend, which adds what was fetched.
func FetchOnlyRunner(f *fetch.Fetcher) worker.Runner { return fetchOnly{f} }

type fetchOnly struct{ fetcher *fetch.Fetcher }

// Run fetches and ends with the bars as a file.
func (r fetchOnly) Run(ctx context.Context, t *worker.Task) (json.RawMessage, error) {
	got, err := fetchAll(ctx, t, r.fetcher)
	if err != nil {
		return nil, err
	}
	return json.RawMessage(`{}`), t.Final(int64(got.Next), got, got.file())
}

// fetched is all that a fetch must remember: how many pieces are done, and their bars.
type fetched struct {
	Next  int      `json:"next"`
	Until int64    `json:"until"` // end of the last piece that is done
	Notes []string `json:"notes,omitempty"`

	bars market.Bars
}

const (
	keptNotes     = 20         // of a fetch
	maxFetched    = 10_000_000 // bars of a fetch
	fetchedInARow = 100        // pieces between two checkpoints
)

// file holds the bars so far. They need not be a series yet: too few may be there to
// show their timeframe.
func (f *fetched) file() worker.File {
	return worker.File{Name: barsRead, Bytes: encodeColumns(&f.bars)}
}

func restoreFetched(ctx context.Context, c *worker.Checkpoint) (*fetched, error) {
	got := &fetched{}
	if c == nil {
		return got, nil
	}
	if err := json.Unmarshal(c.State, got); err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeCorrupt, "state of the fetch: %w", err)
	}
	f, err := c.Open(ctx, barsRead)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // only read
	data, err := io.ReadAll(f)
	if err == nil {
		err = decodeColumns(data, &got.bars)
	}
	return got, err
}

func requestOf(s jobs.FetchSpec) fetch.Request {
	return fetch.Request{
		Source: s.Source, Symbol: s.Ticker, Timeframe: s.Timeframe, From: s.From.Unix(), To: s.To.Unix(), Divide: s.Divide,
	}
}

// fetchAll fetches the pieces of a task that its checkpoint does not have.
func fetchAll(ctx context.Context, t *worker.Task, f *fetch.Fetcher) (*fetched, error) {
	spec, err := ktrdr.ParseSpec[jobs.FetchSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	if err := t.Identify(map[string]string{}); err != nil {
		return nil, err
	}
	got, err := restoreFetched(ctx, t.Checkpoint)
	if err != nil {
		return nil, err
	}
	r := requestOf(spec)
	pieces, err := f.Pieces(r)
	if err != nil {
		return nil, err
	}
	if !got.isOf(pieces) {
		got = &fetched{}
	}
	t.Every = fetchedInARow
	for got.Next < len(pieces) {
		piece := pieces[got.Next]
		t.Progress(ktrdr.Progress{
			CurrentStep:    fmt.Sprintf("fetching %s from %s", r.Label(), text.Minute(max(piece.From, r.From))),
			StepsCompleted: int64(got.Next), StepsTotal: int64(len(pieces)), Percentage: 100 * float64(got.Next) / float64(len(pieces)),
		})
		part, err := f.Fetch(ctx, r, piece)
		if ctx.Err() != nil {
			return nil, t.Interrupted(ctx, int64(got.Next), got, got.file())
		}
		if err == nil && got.bars.Len()+part.Bars.Len() > maxFetched {
			err = ktrdr.Errorf(ktrdr.CodeTooLarge, "there are more than %d bars: choose a later --from or a longer timeframe", maxFetched)
		}
		if err != nil {
			return nil, t.Failed(ctx, err, int64(got.Next), got, got.file())
		}
		got.take(part, piece)
		fault.Hit(fault.FetchPiece)
		if got.Next < len(pieces) && t.Due(int64(got.Next)) {
			if err := t.Save(ctx, int64(got.Next), got, got.file()); err != nil {
				return nil, err
			}
		}
	}
	got.bars.Symbol, got.bars.Timeframe = spec.Symbol, spec.Timeframe
	return got, nil
}

// isOf tells whether the pieces that are done are the first of these. They are not where the
// address of the source was changed meanwhile, to one with files of months instead of days.
func (f *fetched) isOf(pieces []fetch.Piece) bool {
	return f.Next == 0 || f.Next <= len(pieces) && pieces[f.Next-1].To == f.Until
}

// take adds the bars of the next piece.
func (f *fetched) take(part fetch.Fetched, piece fetch.Piece) {
	f.Next, f.Until = f.Next+1, piece.To
	for _, note := range part.Notes {
		if len(f.Notes) < keptNotes {
			f.Notes = append(f.Notes, note)
		}
	}
	b := part.Bars
	if b.Spread != nil && f.bars.Spread == nil && b.Len() > 0 {
		f.bars.Spread = make([]float64, f.bars.Len())
		for i := range f.bars.Spread {
			f.bars.Spread[i] = math.NaN()
		}
	}
	for i := range b.Len() {
		bar := b.At(i)
		if b.Spread == nil {
			bar.Spread = math.NaN()
		}
		f.bars.Append(bar)
	}
}

// add adds fetched bars to the library, once.
func (r fetchRunner) add(ctx context.Context, t *worker.Task, got *fetched) (json.RawMessage, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	spec, err := ktrdr.ParseSpec[jobs.FetchSpec](t.Spec)
	if err != nil {
		return nil, err
	}
	b := &got.bars
	b.Symbol, b.Timeframe = spec.Symbol, spec.Timeframe
	label := requestOf(spec).Label()
	if b.Len() == 0 {
		return r.nothing(ctx, spec, got, label)
	}
	report, err := market.Check(b, label)
	if _, invalid := errors.AsType[*market.InvalidError](err); invalid {
		return nil, ktrdr.Errorf(ktrdr.CodeFailed, "%w", err)
	}
	about, err := r.about(ctx, spec.Symbol)
	if err != nil {
		return nil, err
	}
	how, splits := r.fetcher.Adjusted(spec.Source)
	if splits { // they must not be applied twice
		about.Events = slices.DeleteFunc(slices.Clone(about.Events), func(e instrument.Event) bool { return e.Kind == instrument.SplitEvent })
	}
	t.Progress(ktrdr.Progress{CurrentStep: "comparing with known markets"})
	done, err := r.library.Import(ctx, library.Import{
		Bars: b, Mode: spec.Mode, Origin: ktrdr.BarsFromFile, Source: label, MadeUp: new(false),
		Record: ktrdr.BarsRecord{Format: fetch.NameOf(spec.Source), Zone: "UTC", Unit: "units", Adjustment: how}, Instrument: about,
		Markets: r.markets, Choice: library.Choice{SameAs: spec.SameMarketAs, New: spec.NewMarket}, Holdout: r.holdout,
		By: &library.Importer{Operation: t.Operation, Epoch: t.Epoch, Result: func(done library.Imported) (json.RawMessage, error) {
			result := loadResult(done, report)
			result.Notes = got.Notes
			return json.Marshal(result)
		}},
	})
	return done.Result, err
}

// nothing is the result of a fetch that brought no bars: nothing new for a series that is there, an error
// for one that is not.
func (r fetchRunner) nothing(ctx context.Context, spec jobs.FetchSpec, got *fetched, label string) (json.RawMessage, error) {
	span := fmt.Sprintf("%s has no finished bars of %s from %s to %s", label, spec.Timeframe, text.Minute(spec.From.Unix()),
		text.Minute(spec.To.Unix()))
	is, err := r.library.Info(ctx, spec.Symbol, spec.Timeframe)
	switch {
	case errors.Is(err, market.ErrNoData):
		return nil, ktrdr.Errorf(ktrdr.CodeFailed, "%s: check the symbol and --from, and the source with `ktrdr data fetch --check`", span)
	case err != nil:
		return nil, err
	}
	return json.Marshal(jobs.LoadResult{Summary: span + ": nothing was added", Entry: is, Hash: is.Hash, Notes: got.Notes})
}

// DataFetch makes a fetch of a request. CodeInvalid says what to change.
func (d *Service) DataFetch(ctx context.Context, r jobs.DataFetchRequest) (jobs.Accepted, error) {
	spec, err := d.fetchSpec(ctx, r)
	if err != nil {
		return jobs.Accepted{}, err
	}
	op, err := operation(ktrdr.DataFetch, spec, about{Symbols: []string{spec.Symbol}})
	return jobs.Accepted{Operation: op}, err
}

func (d *Service) fetchSpec(ctx context.Context, r jobs.DataFetchRequest) (jobs.FetchSpec, error) {
	spec, err := d.fetchDraft(ctx, r)
	if err == nil {
		_, err = d.cfg.Fetcher.Pieces(requestOf(spec))
	}
	return spec, err
}

// fetchDraft is a fetch that its source may refuse.
func (d *Service) fetchDraft(ctx context.Context, r jobs.DataFetchRequest) (jobs.FetchSpec, error) {
	spec := jobs.FetchSpec{
		Source: r.Source, Ticker: r.Symbol, Symbol: r.As, Divide: r.Divide, Mode: jobs.ImportMode(r.Mode),
		SameMarketAs: r.SameMarketAs, NewMarket: r.NewMarket,
	}
	tf, err := market.ParseTimeframe(r.Timeframe)
	if err != nil {
		return spec, wrong("%w", err)
	}
	spec.Timeframe = tf
	if spec.Symbol == "" {
		spec.Symbol = r.Symbol
	}
	if spec.Mode == "" {
		spec.Mode = jobs.ImportAppend
	}
	if err := market.CheckSymbol(spec.Symbol); err != nil {
		return spec, wrong("%w: say with --as (as) what the library calls it", err)
	}
	if err := spec.Validate(); err != nil {
		return spec, wrong("%w", err)
	}
	return spec, d.fetchSpan(ctx, &spec, r)
}

const (
	overlap = 5              // bars at the end of a series that are fetched again, to see whether they were revised
	recent  = 90 * dayLength // of bars of less than an hour, where no start is given
	usual   = 730 * dayLength
	long    = 3650 * dayLength

	dayLength = 24 * time.Hour
)

// fetchSpan fixes the first and last instant: a series that is there is continued.
func (d *Service) fetchSpan(ctx context.Context, spec *jobs.FetchSpec, r jobs.DataFetchRequest) (err error) {
	now := time.Now().UTC().Truncate(time.Second)
	if spec.From, err = day("from", r.From, false); err != nil {
		return err
	}
	if spec.To, err = day("to", r.To, true); err != nil {
		return err
	}
	if spec.To.IsZero() || spec.To.After(now) {
		spec.To = now
	}
	if !spec.From.IsZero() {
		return nil
	}
	is, err := d.cfg.Library.Info(ctx, spec.Symbol, spec.Timeframe)
	length := time.Duration(spec.Timeframe.End(0)) * time.Second
	switch {
	case err == nil && spec.Mode == jobs.ImportAppend:
		spec.From = time.Unix(is.Last, 0).UTC().Add(-overlap * length)
	case err != nil && !errors.Is(err, market.ErrNoData):
		return err
	case length < time.Hour:
		spec.From = spec.To.Add(-recent)
	case length < dayLength:
		spec.From = spec.To.Add(-usual)
	default:
		spec.From = spec.To.Add(-long)
	}
	if spec.From.Unix() < 0 {
		spec.From = time.Unix(0, 0).UTC()
	}
	return nil
}
