package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// Name names a series. Without a timeframe all series of the symbol are meant.
type Name struct {
	Symbol    string
	Timeframe market.Timeframe
}

func (n Name) String() string { return strings.TrimSpace(n.Symbol + " " + string(n.Timeframe)) }

// NameOf reads the arguments SYMBOL TIMEFRAME.
func NameOf(args []string) (Name, error) {
	tf, err := market.ParseTimeframe(args[1])
	if err != nil {
		return Name{}, invalid("%w", err)
	}
	return Name{args[0], tf}, nil
}

// StoredSeries is a series of the library with its market.
type StoredSeries struct {
	jobs.SeriesInfo
	Hash string `json:"hash"`
	MarketFacts
}

// MarketFacts are the market of a series and what is counted on it.
type MarketFacts struct {
	Market      string    `json:"market,omitempty"`
	Reason      string    `json:"market_reason,omitempty"`
	Question    string    `json:"market_question,omitempty"`
	HoldoutFrom time.Time `json:"holdout_from,omitzero"`
	Trials      int       `json:"trials"`
	Looks       int       `json:"looks"`

	Holdouts []ktrdr.Holdout `json:"holdouts,omitempty"` // with those before, oldest first
}

// SeriesOf is an entry without its market.
func SeriesOf(e jobs.SeriesInfo) StoredSeries {
	return StoredSeries{SeriesInfo: e, Hash: e.Hash.String()}
}

// AllOf are entries without their markets.
func AllOf(entries []jobs.SeriesInfo) []StoredSeries { return text.Map(entries, SeriesOf) }

// In is the series in a market. Findings in its holdout are counted only.
func (s StoredSeries) In(p library.Placement) StoredSeries {
	m := p.Market
	s.Findings = quality.Seal(s.Findings, m.HoldoutFrom)
	s.MarketFacts = MarketFacts{m.ID, p.Reason, p.Question, m.HoldoutFrom, m.Trials, m.Looks, m.Holdouts}
	return s
}

// From tells how the series came into the lab.
func (s StoredSeries) From() string {
	if !s.Current {
		return string(s.Origin) + ", replaced"
	}
	return string(s.Origin)
}

// Span tells from when to when the series reaches.
func (s StoredSeries) Span() string { return term.Minute(s.First) + " to " + term.Minute(s.Last) }

// Facts are the size, span and hash of the series.
func (s StoredSeries) Facts() string {
	return fmt.Sprintf("%s, %s, hash %s", text.Counted(s.Bars, "bar"), s.Span(), term.ShortHash(s.Hash))
}

// Sentence says to which market the series belongs.
func (m MarketFacts) Sentence() string {
	switch {
	case m.Question != "":
		return "market undecided: " + m.Question
	case m.Market == "":
		return "its market is not decided yet"
	}
	return fmt.Sprintf("market %s: %s", m.Market, m.Reason)
}

// List lists the series of the library. With old it lists replaced series too.
func (l *Lab) List(ctx context.Context, old bool) ([]StoredSeries, error) {
	read := l.Library.List
	if old {
		read = l.Library.History
	}
	entries, err := read(ctx)
	return AllOf(entries), err
}

// ListInMarkets is List with the market of each series.
func (l *Lab) ListInMarkets(ctx context.Context, old bool) ([]StoredSeries, error) {
	list, err := l.List(ctx, old)
	if err != nil {
		return nil, err
	}
	for i, s := range list {
		p, err := l.Markets.Describe(ctx, s.SeriesInfo)
		if err == nil && p.Market.ID == "" && s.Current {
			p.Question, err = l.questionOf(ctx, s.SeriesInfo)
		}
		if err != nil {
			return nil, err
		}
		list[i] = s.In(p)
	}
	return list, nil
}

// questionOf is what the user must decide about a series that has no market. A
// series that cannot be read says so there.
func (l *Lab) questionOf(ctx context.Context, e jobs.SeriesInfo) (string, error) {
	b, err := l.Library.Open(ctx, e)
	switch {
	case ktrdr.CodeOf(err) == ktrdr.CodeCorrupt:
		return err.Error(), nil
	case err != nil:
		return "", err
	}
	return l.Markets.Question(ctx, b)
}

// Judged is a series with its findings and its market. One that was not judged is judged.
func (l *Lab) Judged(ctx context.Context, n Name) (StoredSeries, *market.Bars, error) {
	e, b, err := l.Open(ctx, n)
	if err != nil {
		return SeriesOf(e), b, err
	}
	p, err := l.Markets.Describe(ctx, e)
	if err == nil {
		e, err = l.Library.Judged(ctx, e, b, p.Market, l.Holdout)
	}
	return SeriesOf(e).In(p), b, err
}

// Accept lets research begin on a series in spite of severe findings.
func (l *Lab) Accept(ctx context.Context, n Name, rules []string, by string) (StoredSeries, error) {
	s, _, err := l.Judged(ctx, n)
	if err != nil {
		return s, err
	}
	e, err := l.Library.Accept(ctx, s.SeriesInfo, ktrdr.Market{}, rules, by)
	s.SeriesInfo = e
	return s, err
}

// Quality is the findings of the series in one word.
func (s StoredSeries) Quality() string {
	switch worst := quality.Worst(s.Findings); {
	case s.Findings == nil:
		return "not judged"
	case len(s.Unaccepted()) > 0:
		return "refused"
	case worst == quality.Severe:
		return "accepted"
	case worst == quality.Warning:
		return "warning"
	}
	return "ok"
}

// Open reads a series and its row. A symbol that differs from the library's by
// capitals only is understood.
func (l *Lab) Open(ctx context.Context, n Name) (e jobs.SeriesInfo, b *market.Bars, err error) {
	if e, err = l.Library.Info(ctx, n.Symbol, n.Timeframe); errors.Is(err, market.ErrNoData) {
		var symbol string
		if symbol, err = l.spelling(ctx, n.Symbol); err == nil {
			e, err = l.Library.Info(ctx, symbol, n.Timeframe)
		}
	}
	if err != nil {
		return e, nil, l.Missing(ctx, n, err)
	}
	b, err = l.Library.Open(ctx, e)
	return e, b, err
}

// spelling is the symbol as the library writes it. The store has at most one that
// differs by capitals only.
func (l *Lab) spelling(ctx context.Context, symbol string) (string, error) {
	all, err := l.Library.List(ctx)
	for _, e := range all {
		if strings.EqualFold(e.Symbol, symbol) {
			return e.Symbol, nil
		}
	}
	return symbol, err
}

// Missing explains market.ErrNoData by what there is; other errors stay.
func (l *Lab) Missing(ctx context.Context, n Name, err error) error {
	if !errors.Is(err, market.ErrNoData) {
		return err
	}
	list, _ := l.List(ctx, false) // without it the message is shorter
	return Missing(list, n)
}

// Missing says that a series is not there, and what is.
func Missing(list []StoredSeries, n Name) error {
	var frames, symbols []string
	for _, e := range list {
		symbols = append(symbols, e.Symbol)
		if e.Symbol == n.Symbol {
			frames = append(frames, string(e.Timeframe))
		}
	}
	near := text.Nearest(n.Symbol, symbols)
	switch {
	case frames != nil:
		return invalid("there are no bars of %s, only of %s %s: import them with `ktrdr data import`", n, n.Symbol, strings.Join(frames, ", "))
	case near != "":
		return invalid("there are no bars of %s; did you mean %s?", n, near)
	case n.Timeframe == "":
		return invalid("there are no bars of %s: `ktrdr data list` shows what there is", n)
	}
	return invalid("there are no bars of %s: `ktrdr data list` shows what there is, `ktrdr data import FILE` adds to it, "+
		"`ktrdr data synth` makes some up", n)
}

// Delete deletes a series and those that it replaced, and says which they were.
func (l *Lab) Delete(ctx context.Context, n Name) ([]StoredSeries, error) {
	all, err := l.ListInMarkets(ctx, true)
	if err != nil {
		return nil, err
	}
	if n.Symbol, err = l.spelling(ctx, n.Symbol); err != nil {
		return nil, err
	}
	gone := slices.DeleteFunc(slices.Clone(all), func(s StoredSeries) bool {
		return s.Symbol != n.Symbol || n.Timeframe != "" && s.Timeframe != n.Timeframe
	})
	if len(gone) == 0 {
		return nil, Missing(all, n)
	}
	if err := l.Library.Unfollowed(ctx, n.Symbol, n.Timeframe, "delete"); err != nil { // all of a symbol, or none
		return nil, err
	}
	done := map[market.Timeframe]bool{}
	for _, s := range gone {
		if !done[s.Timeframe] {
			if _, err := l.Library.Delete(ctx, n.Symbol, s.Timeframe); err != nil {
				return nil, err
			}
			done[s.Timeframe] = true
		}
	}
	return gone, nil
}

// Add stores bars that a command has made and assigns them to their market. Unless
// replace is set, a series that exists with other bars is refused; otherwise says
// what else can be done.
func (l *Lab) Add(ctx context.Context, im library.Import, replace bool, otherwise string) (StoredSeries, error) {
	b := im.Bars
	was, err := l.Library.Info(ctx, b.Symbol, b.Timeframe)
	switch {
	case errors.Is(err, market.ErrNoData), err == nil && (replace || was.Hash == b.Hash()):
	case err != nil:
		return StoredSeries{}, err
	default:
		return StoredSeries{}, invalid("%s is there already, %d bars, %s: %slet this take its place with --replace", Name{b.Symbol, b.Timeframe},
			was.Bars, SeriesOf(was).Span(), otherwise)
	}
	im.Markets, im.Holdout = l.Markets, l.Holdout
	if replace {
		im.Mode = jobs.ImportReplace
	}
	done, err := l.Library.Import(ctx, im)
	return SeriesOf(done.Entry).In(done.Placement), err
}

// NamedSeries is the symbol and timeframe that a file's name tells, if it does.
func NamedSeries(base string) (Name, bool) {
	symbol, tf, ok := market.NamedSeries(base)
	return Name{symbol, tf}, ok
}
