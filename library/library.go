package library

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// Library is the bars that the lab holds. Which there are stands in the store,
// their bytes are in the blob store, so that every backend has the same. It is
// safe for concurrent use.
type Library struct {
	store ktrdr.Library
	blobs Blobs
}

// NewLibrary makes the library of a store and its blobs.
func NewLibrary(store ktrdr.Library, blobs Blobs) *Library { return &Library{store, blobs} }

func infoOf(s ktrdr.StoredBars) jobs.SeriesInfo {
	return jobs.SeriesInfo{
		Symbol: s.Symbol, Timeframe: market.Timeframe(s.Timeframe), Hash: s.Hash, Bars: s.Bars, First: s.First.Unix(), Last: s.Last.Unix(),
		Size: s.File.Size, Origin: s.Origin, Source: s.Source, MadeUp: s.MadeUp, AddedAt: s.AddedAt, Current: s.Current, File: s.File,
		Record: s.Record, Findings: findingsOf(s.Findings), Accepted: s.Accepted,
	}
}

// List describes the current series by symbol and timeframe.
func (l *Library) List(ctx context.Context) ([]jobs.SeriesInfo, error) { return l.list(ctx, false) }

// History describes the current series and those that they replaced.
func (l *Library) History(ctx context.Context) ([]jobs.SeriesInfo, error) { return l.list(ctx, true) }

func (l *Library) list(ctx context.Context, old bool) ([]jobs.SeriesInfo, error) {
	rows, err := l.store.Bars(ctx, old)
	return text.Map(rows, infoOf), err
}

// Info describes a current series. The error is market.ErrNoData if the library has no such series.
func (l *Library) Info(ctx context.Context, symbol string, tf market.Timeframe) (jobs.SeriesInfo, error) {
	s, err := l.store.BarsOf(ctx, symbol, string(tf))
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		err = fmt.Errorf("%s %s: %w", symbol, tf, market.ErrNoData)
	}
	return infoOf(s), err
}

// Get reads a current series. The error is market.ErrNoData if the library has no such series.
func (l *Library) Get(ctx context.Context, symbol string, tf market.Timeframe) (*market.Bars, error) {
	e, err := l.Info(ctx, symbol, tf)
	if err != nil {
		return nil, err
	}
	return l.Open(ctx, e)
}

// OpenAll reads the current series of symbols and timeframes, checked to their last
// bytes. The error names all that cannot be read, with what noData says of a series
// that the library does not have: CodeInvalid.
func (l *Library) OpenAll(ctx context.Context, symbols []string, frames []market.Timeframe,
	noData func(symbol string, tf market.Timeframe) error,
) (infos []jobs.SeriesInfo, bars []*market.Bars, err error) {
	var missing []error
	for _, symbol := range symbols {
		for _, tf := range frames {
			var b *market.Bars
			e, err := l.Info(ctx, symbol, tf)
			if err == nil {
				b, err = l.Open(ctx, e)
			}
			switch {
			case err == nil:
				infos, bars = append(infos, e), append(bars, b)
			case errors.Is(err, market.ErrNoData):
				missing = append(missing, noData(symbol, tf))
			case ctx.Err() != nil, ktrdr.CodeOf(err) == ktrdr.CodeUnavailable:
				return nil, nil, err
			default:
				missing = append(missing, err)
			}
		}
	}
	if err := errors.Join(missing...); err != nil {
		return nil, nil, wrong("%w", err)
	}
	return infos, bars, nil
}

// Open reads a series, current or not, checked to its last byte.
func (l *Library) Open(ctx context.Context, e jobs.SeriesInfo) (*market.Bars, error) {
	data, err := ReadBlob(ctx, l.blobs, e.File)
	if err == nil {
		var b *market.Bars
		if b, err = market.Decode(data); err == nil {
			if b.Symbol == e.Symbol && b.Timeframe == e.Timeframe && b.Hash() == e.Hash {
				return b, nil
			}
			err = fmt.Errorf("the file holds %s %s with another hash", b.Symbol, b.Timeframe)
		}
	}
	if ctx.Err() != nil || ktrdr.CodeOf(err) == ktrdr.CodeUnavailable {
		return nil, err
	}
	return nil, ktrdr.Errorf(ktrdr.CodeCorrupt,
		"the bars of %s %s cannot be read: import them again with `ktrdr data import FILE --replace`, "+
			"or restore the blob from a backup (`ktrdr doctor` names it): %w", e.Symbol, e.Timeframe, err)
}

// Problem says why a file cannot be read, by its presence and size; "" if it can.
func (l *Library) Problem(ctx context.Context, e jobs.SeriesInfo) (string, error) {
	info, err := l.blobs.Stat(ctx, e.File.SHA256)
	switch code := ktrdr.CodeOf(err); {
	case code == ktrdr.CodeNotFound, code == ktrdr.CodeCorrupt:
		return "its file is missing from the blob store: import the data again with mode replace, or restore the blob from a backup", nil
	case err != nil:
		return "", err
	case info.Size != e.File.Size:
		return fmt.Sprintf("its file has %d bytes instead of %d: import the data again with mode replace, or restore the blob from a backup",
			info.Size, e.File.Size), nil
	}
	return "", nil
}

// Delete deletes a series and those that it replaced. What is pinned by an
// operation stays readable for it, and the market keeps its trials and looks. One that
// is kept current is refused: it would come back.
func (l *Library) Delete(ctx context.Context, symbol string, tf market.Timeframe) ([]jobs.SeriesInfo, error) {
	if err := l.Unfollowed(ctx, symbol, tf, "delete"); err != nil {
		return nil, err
	}
	rows, err := l.store.DeleteBars(ctx, symbol, string(tf))
	return text.Map(rows, infoOf), err
}

// Rename gives all series of a symbol another one. They stay in their markets.
// It tries again when another changed or added a series of the symbol meanwhile. A
// symbol that is kept current is refused: it would come back under its old name.
func (l *Library) Rename(ctx context.Context, m *Markets, from, to string) (renamed []jobs.SeriesInfo, err error) {
	if err := market.CheckSymbol(to); err != nil {
		return nil, wrong("%w", err)
	}
	if err := l.Unfollowed(ctx, from, "", "rename"); err != nil {
		return nil, err
	}
	all, err := l.List(ctx)
	if err != nil {
		return nil, err
	}
	for range importTries {
		if renamed, err = l.renameOnce(ctx, m, all, from, to); ktrdr.CodeOf(err) != ktrdr.CodeConflict {
			return renamed, err
		}
		now, again := l.List(ctx)
		if again != nil || slices.EqualFunc(all, now, sameSeries) {
			return nil, err
		}
		all = now
	}
	return nil, err
}

func sameSeries(a, b jobs.SeriesInfo) bool {
	return a.Symbol == b.Symbol && a.Timeframe == b.Timeframe && a.Hash == b.Hash
}

func (l *Library) renameOnce(ctx context.Context, m *Markets, all []jobs.SeriesInfo, from, to string) ([]jobs.SeriesInfo, error) {
	symbols := make([]string, len(all))
	for i, e := range all {
		symbols[i] = e.Symbol
		if strings.EqualFold(e.Symbol, from) { // the store has at most one that differs by capitals only
			from = e.Symbol
		}
	}
	if from == to {
		return nil, wrong("%s has that name already", from)
	}
	var renamed []ktrdr.NewBars
	for _, e := range all {
		switch {
		case e.Symbol == to:
			return nil, ktrdr.Errorf(ktrdr.CodeConflict, "there are %s bars of %s already, %d of them: choose another symbol, or delete them first",
				e.Timeframe, to, e.Bars)
		case e.Symbol != from:
			continue
		}
		b, err := l.Open(ctx, e)
		if err != nil {
			return nil, err
		}
		placed, err := m.renamed(ctx, b, to)
		if err != nil {
			return nil, err
		}
		b.Symbol = to
		n, err := l.newBars(ctx, candidateOf(b), ktrdr.BarsRenamed, from+" "+string(e.Timeframe))
		if err != nil {
			return nil, err
		}
		n.Replaces, n.MadeUp, n.Series, n.Record, n.Accepted = e.Hash, e.MadeUp, placed, e.Record, e.Accepted
		if e.Findings != nil {
			if n.Findings, err = storeFindings(e.Findings); err != nil {
				return nil, err
			}
		}
		renamed = append(renamed, n)
	}
	if len(renamed) == 0 {
		if near := text.Nearest(from, symbols); near != "" {
			return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there are no bars of %s; did you mean %s?", from, near)
		}
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there are no bars of %s; `ktrdr data list` shows what there is", from)
	}
	if err := l.store.RenameBars(ctx, from, renamed); err != nil {
		return nil, err
	}
	var entries []jobs.SeriesInfo
	for _, n := range renamed {
		e, err := l.Info(ctx, to, market.Timeframe(n.Timeframe))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }
