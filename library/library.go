package library

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
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
	b, said, err := adjusted(im.Bars, im.Instrument.Events)
	if err != nil {
		return out, false, err
	}
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
			if more, err = l.appended(ctx, was, im, b); err != nil {
				return out, false, err
			}
			b, choice, out.Merged, holdout, compared = more.bars, more.choice, more.merged, more.holdout, more.compared
			im.Record = joinedRecord(was.Record, im.Record)
		} else if compared, holdout, err = l.replaced(ctx, was, im.Markets, b); err != nil {
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
	if b.Len() > 0 && (out.Merged == nil || holdout.IsZero()) {
		holdout = earlier(holdout, HoldoutStart(b, ktrdr.Market{}, cmp.Or(im.Holdout, UsualHoldout)))
	}
	judged := func() []quality.ContentFinding {
		found := judge(b, knownOf(im.Instrument, holdout), quality.Seal(compared, holdout))
		if im.Origin == ktrdr.BarsSynthetic {
			return tempered(found)
		}
		return found
	}
	findings := judged()
	store := func(ctx context.Context, s *ktrdr.NewSeries, question string) error {
		from, err := im.Markets.holdoutOf(ctx, s)
		if err != nil {
			return err
		}
		if from = earlier(holdout, from); from.Before(holdout) { // the series is of a market that has a holdout
			holdout = from
			findings = judged()
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

// WouldMerge tells how an import would add its bars to a series. It stores nothing.
func (l *Library) WouldMerge(ctx context.Context, was jobs.SeriesInfo, im Import) (*market.Merged, error) {
	b, _, err := adjusted(im.Bars, im.Instrument.Events)
	if err != nil {
		return nil, err
	}
	more, err := l.appended(ctx, was, im, b)
	return more.merged, err
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

// replaced compares bars with those that they take the place of, and says where the holdout
// of their market begins, if it has one. Bars that cannot be read are not compared: replacing
// them is how they are mended.
func (l *Library) replaced(ctx context.Context, was jobs.SeriesInfo, m *Markets, b *market.Bars) (
	found []quality.ContentFinding, from time.Time, err error,
) {
	if m != nil {
		p, err := m.Describe(ctx, was)
		if err != nil {
			return nil, from, err
		}
		from = p.Market.HoldoutFrom
	}
	old, err := l.Open(ctx, was)
	if ktrdr.CodeOf(err) == ktrdr.CodeCorrupt {
		return nil, from, nil
	}
	if err != nil || old.Len() == 0 {
		return nil, from, err
	}
	return tempered(quality.Compare(old, b, earlier(from, HoldoutStart(old, ktrdr.Market{}, UsualHoldout)))), from, nil
}

// earlier is the earlier of two instants, of which a zero one is none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (l *Library) newBars(ctx context.Context, b *market.Bars, origin ktrdr.BarsOrigin, source string) (ktrdr.NewBars, error) {
	pinned, err := PinBars(ctx, l.blobs, b, "")
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

// Delete deletes a series and those that it replaced. What is pinned by an
// operation stays readable for it, and the market keeps its trials and looks.
func (l *Library) Delete(ctx context.Context, symbol string, tf market.Timeframe) ([]jobs.SeriesInfo, error) {
	rows, err := l.store.DeleteBars(ctx, symbol, string(tf))
	return text.Map(rows, infoOf), err
}

// Rename gives all series of a symbol another one. They stay in their markets.
// It tries again when another changed or added a series of the symbol meanwhile.
func (l *Library) Rename(ctx context.Context, m *Markets, from, to string) (renamed []jobs.SeriesInfo, err error) {
	if err := market.CheckSymbol(to); err != nil {
		return nil, wrong("%w", err)
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
		n, err := l.newBars(ctx, b, ktrdr.BarsRenamed, from+" "+string(e.Timeframe))
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

// ImportResult returns what an operation that imports has stored; nil: nothing.
func (l *Library) ImportResult(ctx context.Context, id ktrdr.OperationID) (json.RawMessage, error) {
	return l.store.ImportResult(ctx, id)
}

func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }
