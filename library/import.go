package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// Import is bars to be added to the library.
type Import struct {
	Bars   *market.Bars
	Mode   jobs.ImportMode
	Origin ktrdr.BarsOrigin
	Source string
	MadeUp *bool // the bars are made up; nil: not known
	Record ktrdr.BarsRecord
	// Instrument is what the file of instruments says of the symbol. The bars of a
	// file are adjusted for its splits, dividends and rolls.
	Instrument instrument.Instrument
	// Markets assigns the series to its market, in the transaction that adds it;
	// nil: it is not assigned. Choice is what the user says about that. It counts
	// more than what the import knows.
	Markets *Markets
	Choice  Choice
	// Holdout is the share of the bars, at their end, that are the holdout of a
	// market which has no start of it yet; 0 means UsualHoldout.
	Holdout float64
	By      *Importer // nil: it is not an operation that imports
}

// Importer is an operation that imports once: run again, it has its first result.
type Importer struct {
	Operation ktrdr.OperationID
	Epoch     ktrdr.Epoch
	Result    func(Imported) (json.RawMessage, error) // makes the result that is stored with the bars
}

// Imported is what an import came to.
type Imported struct {
	Entry    jobs.SeriesInfo
	Replaced *jobs.SeriesInfo // the series that was current before; nil if there was none or it is the same
	Same     bool             // the series that was current before has the same bars
	Merged   *market.Merged   // how the bars were added to those before
	Placement
	Result json.RawMessage // the stored result of the Importer; where it has imported before, nothing else is set
}

// importTries is how often an import is tried while others change the same series.
const importTries = 5

// Import adds a series with its market, or nothing. The series that it replaces stays
// readable for specs that name it. CodeConflict if the series exists and the mode
// does not say what to do; market.InvalidError if the series breaks a rule.
func (l *Library) Import(ctx context.Context, im Import) (out Imported, err error) {
	if im.By != nil {
		if out.Result, err = l.ImportResult(ctx, im.By.Operation); err != nil || out.Result != nil {
			return out, err
		}
	}
	for range importTries {
		var overtaken bool
		out, overtaken, err = l.importOnce(ctx, im)
		if out.Result != nil {
			return out, nil // it is stored, whatever went wrong after that
		}
		if !overtaken {
			return out, err
		}
	}
	return out, err
}

func (l *Library) importOnce(ctx context.Context, im Import) (out Imported, overtaken bool, err error) {
	if err := market.CheckSymbol(im.Bars.Symbol); err != nil {
		return out, false, wrong("%w", err)
	}
	bars, said, err := adjusted(im.Bars, im.Instrument.Events)
	if err != nil {
		return out, false, err
	}
	b := candidateOf(bars)
	im.Record = withAdjustment(im.Record, said)
	was, err := l.Info(ctx, b.Symbol, b.Timeframe)
	there := err == nil
	if err != nil && !errors.Is(err, market.ErrNoData) {
		return out, false, err
	}
	var choice Choice
	var holdout time.Time
	var compared []quality.ContentFinding
	if there && was.Hash != b.Hash() {
		if err := im.Mode.Exists(was); err != nil {
			return out, false, err
		}
		if im.Mode == jobs.ImportAppend {
			var more added
			if more, err = l.appended(ctx, was, im, bars); err != nil {
				return out, false, err
			}
			b, choice, out.Merged, holdout, compared = candidateOf(more.bars), more.choice, more.merged, more.holdout, more.compared
			im.Record = joinedRecord(was.Record, im.Record)
		} else if compared, err = l.replaced(ctx, was, im, bars); err != nil {
			return out, false, err
		}
		out.Replaced = &was
	}
	if out.Same = there && was.Hash == b.Hash(); out.Same {
		out.Replaced = nil
	}
	madeUp := im.MadeUp
	if out.Merged != nil {
		madeUp = ktrdr.AnyMadeUp(was.MadeUp, im.MadeUp)
	}
	store := func(ctx context.Context, s *ktrdr.NewSeries, question string) error {
		from, err := im.sealedFrom(ctx, b, s, question, holdout)
		if err != nil {
			return err
		}
		findings := judge(b.Bars, knownOf(im.Instrument, b.Symbol, from), quality.Seal(compared, from))
		if im.Origin == ktrdr.BarsSynthetic {
			findings = tempered(findings)
		}
		n, err := l.newBars(ctx, b, im.Origin, im.Source)
		if err == nil {
			n.Findings, err = storeFindings(findings)
		}
		if err != nil {
			return fmt.Errorf("import %s %s: %w", b.Symbol, b.Timeframe, err)
		}
		n.MadeUp, n.Series, n.Record = madeUp, s, im.Record
		if out.Merged != nil {
			n.Accepted = stillAccepted(was, findings)
		}
		if there {
			n.Replaces = was.Hash
		}
		return l.addTo(ctx, &out, n, question, im.By)
	}
	if im.Markets == nil {
		err = store(ctx, nil, "")
	} else {
		if im.Choice != (Choice{}) {
			choice = im.Choice
		}
		if err := im.Markets.placeNamed(ctx, l, choice); err != nil {
			return out, false, err
		}
		out.Placement, err = im.Markets.place(ctx, b, choice, store)
	}
	if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
		now, again := l.Info(ctx, b.Symbol, b.Timeframe)
		return out, again == nil && now.Hash != was.Hash || there && errors.Is(again, market.ErrNoData), err
	}
	return out, false, err
}

// sealedFrom is where findings of b are told no more: where the holdout begins of the
// markets that the series goes to, or may go to while the user must decide. added is
// that of the series to which the bars are added.
func (im Import) sealedFrom(ctx context.Context, b *candidate, s *ktrdr.NewSeries, question string, added time.Time) (time.Time, error) {
	var m ktrdr.Market
	var err error
	if im.Markets != nil {
		if m, err = im.Markets.together(ctx, b, s, question); err != nil {
			return time.Time{}, err
		}
	}
	from := m.HoldoutFrom
	switch {
	case !from.IsZero() && (added.IsZero() || from.Before(added)):
		return from, nil
	case added.IsZero() && b.Len() > 0:
		return HoldoutStart(b.Bars, m, cmp.Or(im.Holdout, UsualHoldout)), nil
	}
	return added, nil
}

func (l *Library) addTo(ctx context.Context, out *Imported, n ktrdr.NewBars, question string, by *Importer) error {
	if by == nil {
		added, err := l.store.AddBars(ctx, n)
		out.Entry = infoOf(added)
		return err
	}
	done := *out
	result, err := l.store.ImportBars(ctx, n, ktrdr.BarsImport{
		Operation: by.Operation, Epoch: by.Epoch,
		Result: func(added ktrdr.StoredBars, placed ktrdr.MarketSeries) (json.RawMessage, error) {
			done.Entry = infoOf(added)
			done.Placement = Placement{Market: ktrdr.Market{ID: placed.Market}, Reason: placed.Reason, Question: question}
			return by.Result(done)
		},
	})
	*out = done
	out.Result = result
	return err
}

// added is a series with the bars that an import adds to it.
type added struct {
	bars     *market.Bars
	choice   Choice
	merged   *market.Merged
	holdout  time.Time
	compared []quality.ContentFinding
}

// appended adds bars to a series, and so to its market. It tells no bar of the
// market's holdout. b is the bars of the import, adjusted.
func (l *Library) appended(ctx context.Context, was jobs.SeriesInfo, im Import, b *market.Bars) (added, error) {
	old, err := l.Open(ctx, was)
	if err == nil {
		old, err = catchUp(old, im.Bars, im.Instrument.Events)
	}
	if err != nil {
		return added{}, err
	}
	var p Placement
	if im.Markets != nil {
		if p, err = im.Markets.Describe(ctx, was); err != nil {
			return added{}, err
		}
	}
	from := p.Market.HoldoutFrom
	if from.IsZero() && old.Len() > 0 {
		from = HoldoutStart(old, p.Market, cmp.Or(im.Holdout, UsualHoldout))
	}
	all, merged, err := market.MergeSealed(old, b, from)
	return added{all, Choice{series: &was, why: "more bars of the same series"}, &merged, from, quality.Compare(old, b, from)}, err
}

// replaced compares bars with those that they take the place of. Bars that cannot be
// read are not compared: replacing them is how they are mended.
func (l *Library) replaced(ctx context.Context, was jobs.SeriesInfo, im Import, b *market.Bars) ([]quality.ContentFinding, error) {
	var p Placement
	var err error
	if im.Markets != nil {
		if p, err = im.Markets.Describe(ctx, was); err != nil {
			return nil, err
		}
	}
	old, err := l.Open(ctx, was)
	if ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		return nil, nil
	}
	if err != nil || old.Len() == 0 {
		return nil, err
	}
	from := p.Market.HoldoutFrom
	if from.IsZero() {
		from = HoldoutStart(old, p.Market, cmp.Or(im.Holdout, UsualHoldout))
	}
	return tempered(quality.Compare(old, b, from)), nil
}

func (l *Library) newBars(ctx context.Context, b *candidate, origin ktrdr.BarsOrigin, source string) (ktrdr.NewBars, error) {
	pinned, err := pinHashed(ctx, l.blobs, b.Bars, b.Hash(), "")
	if err != nil {
		return ktrdr.NewBars{}, err
	}
	n := ktrdr.NewBars{StoredBars: ktrdr.StoredBars{
		Symbol: b.Symbol, Timeframe: string(b.Timeframe), Hash: pinned.Hash, Bars: b.Len(), File: pinned.Artifact, Origin: origin, Source: source,
	}}
	if k := b.Len(); k > 0 {
		n.First, n.Last = time.Unix(b.Time[0], 0).UTC(), time.Unix(b.Time[k-1], 0).UTC()
	}
	return n, nil
}

// ImportResult returns what an operation that imports has stored; nil: nothing.
func (l *Library) ImportResult(ctx context.Context, id ktrdr.OperationID) (json.RawMessage, error) {
	return l.store.ImportResult(ctx, id)
}
