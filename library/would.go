package library

import (
	"context"
	"errors"
	"io"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// Would is what an import would come to.
type Would struct {
	Was      *jobs.SeriesInfo         // the series as it is; nil: not there
	Same     bool                     // it has exactly these bars
	Refused  string                   // why the import would be refused because of Was
	Merged   *market.Merged           // how the bars would be added to those of Was
	Findings []quality.ContentFinding // of the series as it would be then
	Accepted []ktrdr.AcceptedFinding  // of those, by name
	Question string                   // what the user must decide about its market
}

// errWould ends a placement before anything is stored.
var errWould = errors.New("it is only tried")

// WouldImport is what Import would find and do. It stores nothing, and tells no more of a
// holdout than Import does.
func (l *Library) WouldImport(ctx context.Context, im Import) (w Would, err error) {
	bars, _, err := adjusted(im.Bars, im.Instrument.Events)
	if err != nil || bars.Len() == 0 {
		return w, err
	}
	b := candidateOf(bars)
	var choice Choice
	var more added
	was, err := l.Info(ctx, b.Symbol, b.Timeframe)
	switch {
	case errors.Is(err, market.ErrNoData):
	case err != nil:
		return w, err
	case was.Hash == b.Hash():
		w.Was, w.Same, w.Accepted = &was, true, was.Accepted
	case im.Mode == jobs.ImportAppend:
		if more, err = l.appended(ctx, was, im, b.Bars); err != nil {
			return w, err
		}
		w.Was, w.Merged, b, choice = &was, more.merged, candidateOf(more.bars), more.choice
	case im.Mode == jobs.ImportReplace:
		w.Was = &was
		if more.compared, err = l.replaced(ctx, was, im, b.Bars); err != nil {
			return w, err
		}
	default:
		w.Was, w.Refused = &was, im.Mode.Exists(was).Error()
	}
	found := func(ctx context.Context, s *ktrdr.NewSeries, question string) error {
		from, err := im.sealedFrom(ctx, b, s, question, more.holdout)
		if err != nil {
			return err
		}
		w.Findings, w.Question = judge(b.Bars, knownOf(im.Instrument, b.Symbol, from), quality.Seal(more.compared, from)), question
		if w.Merged != nil {
			w.Accepted = stillAccepted(was, w.Findings)
		}
		return errWould
	}
	if im.Markets == nil {
		err = found(ctx, nil, "")
	} else {
		if im.Choice != (Choice{}) {
			choice = im.Choice
		}
		_, err = NewMarkets(im.Markets.ledger, unwritten{im.Markets.blobs}).place(ctx, b, choice, found)
	}
	if errors.Is(err, errWould) {
		err = nil
	}
	return w, err
}

// unwritten are blobs to which nothing is added.
type unwritten struct{ Blobs }

func (unwritten) Put(_ context.Context, _ ktrdr.Hash, r io.Reader) (int64, error) {
	return io.Copy(io.Discard, r)
}
