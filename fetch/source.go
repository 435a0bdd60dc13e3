package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Request asks for the bars of a symbol that open at From or later and have closed by To.
type Request struct {
	Source    string           // name of a source, or url:TEMPLATE
	Symbol    string           // as the source writes it
	Timeframe market.Timeframe // of the bars
	From, To  int64            // Unix seconds
	Divide    float64          // points that make a unit, where the source has points; 0: what the source is known to use
}

// Piece is a part of a request that is fetched at once: bars that open in [From, To).
type Piece struct{ From, To int64 }

// Fetched is the bars of a piece.
type Fetched struct {
	Bars  *market.Bars
	Notes []string // what a reader of the bars should know
}

// source is one kind of answer.
type source struct {
	about   string             // one line for people
	adjust  string             // what was done to the prices before they are given out
	splits  bool               // they are adjusted for splits
	base    string             // where it is, without the last slash
	pace    time.Duration      // between the starts of two requests
	frames  []market.Timeframe // that it has
	example Request            // that Check fetches
	pieces  func(Request) []Piece
	fetch   func(context.Context, session, Request, Piece) (answer, error)
	secrets []string // parts of its address that are never shown
}

// answer is what a source says of a piece: its rows in any order, maybe more than were asked for.
type answer struct {
	rows   []market.Bar
	spread bool  // the rows have spreads
	until  int64 // bars that close after it are not finished; 0: no such limit
	notes  []string
}

// session is a source with the client that asks it.
type session struct {
	*source

	name   string
	client *Client
}

func (s session) get(ctx context.Context, what, format string, args ...any) ([]byte, error) {
	return s.client.get(ctx, ask{
		source: s.name, pace: s.pace, url: s.base + fmt.Sprintf(format, args...), what: s.name + ": " + what,
	})
}

var known = map[string]*source{
	"binance": binance(), "dukascopy": dukascopy(), "yahoo": yahoo(), "kraken": kraken(), "coinbase": coinbase(), "fred": fred(),
}

// Config is what a Fetcher needs. The zero value serves.
type Config struct {
	Networks []netip.Prefix // that are allowed although they are not public
	// Addresses are those of a mirror of a source, by its name, or templates of
	// sources of your own. They may hold keys.
	Addresses map[string]ktrdr.Secret
}

// Fetcher fetches from all sources. It is safe for concurrent use.
type Fetcher struct {
	client  *Client
	sources map[string]*source
}

var sourceName = regexp.MustCompile(`^[a-z][a-z0-9_-]{0,31}$`)

// New makes a Fetcher, or says which address cannot be used.
func New(cfg Config) (*Fetcher, error) {
	f := &Fetcher{client: NewClient(cfg.Networks), sources: maps.Clone(known)}
	for _, name := range slices.Sorted(maps.Keys(cfg.Addresses)) {
		address := cfg.Addresses[name].Reveal()
		var err error
		switch of := known[name]; {
		case !sourceName.MatchString(name):
			err = errors.New("the name of a source has small letters, digits, - and _, and begins with a letter")
		case of != nil:
			mirror := *of
			mirror.base = strings.TrimRight(address, "/")
			f.sources[name] = &mirror
			err = checkAddress(mirror.base)
		default:
			f.sources[name], err = template(address)
		}
		if err != nil {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "source %q: %w", cut(name), err)
		}
		f.sources[name].secrets = secretsOf(address)
	}
	return f, nil
}

// Close closes the connections that wait for another request.
func (f *Fetcher) Close() { f.client.Close() }

// Names lists the sources.
func (f *Fetcher) Names() []string { return slices.Sorted(maps.Keys(f.sources)) }

// About says in one line what a source has, and how its prices were adjusted.
func (f *Fetcher) About(name string) string {
	if s := f.sources[name]; s != nil {
		return s.about
	}
	return ""
}

const ofTemplate = "url:"

// Label is what the library says of where fetched bars are from.
func (r Request) Label() string { return NameOf(r.Source) + " " + r.Symbol }

// Adjusted says what was done to the prices of a source before they are given out, and
// whether they are adjusted for splits.
func (f *Fetcher) Adjusted(source string) (how string, splits bool) {
	s, err := f.source(source)
	if err != nil {
		return "", false
	}
	return s.adjust, s.splits
}

// NameOf is a source as far as people may see it.
func NameOf(source string) string {
	if address, ok := strings.CutPrefix(source, ofTemplate); ok {
		return hostOf(address)
	}
	return source
}

func (f *Fetcher) source(name string) (*source, error) {
	if address, ok := strings.CutPrefix(name, ofTemplate); ok {
		if err := checkNoKey(address); err != nil {
			return nil, err
		}
		return template(address)
	}
	if s := f.sources[name]; s != nil {
		return s, nil
	}
	return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "there is no source %q; %s, or url:https://HOST/{symbol}.csv", cut(name),
		text.Choices(name, f.Names()))
}

var symbolText = regexp.MustCompile(`^[A-Za-z0-9^][A-Za-z0-9._=^-]{0,39}$`)

// maxSpans is how many parts a request may have.
const maxSpans = 20_000

// Pieces cuts a request into parts, oldest first, or says what is wrong with it.
func (f *Fetcher) Pieces(r Request) ([]Piece, error) {
	s, err := f.source(r.Source)
	if err != nil {
		return nil, err
	}
	wrong := func(format string, args ...any) ([]Piece, error) {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, format, args...)
	}
	switch {
	case !symbolText.MatchString(r.Symbol):
		return wrong("%q is no symbol of a source: it has letters, digits and . _ = ^ - only, at most 40", cut(r.Symbol))
	case !slices.Contains(s.frames, r.Timeframe):
		return wrong("%s has no bars of %s: it has %s. Longer bars: `ktrdr data resample`", NameOf(r.Source), r.Timeframe,
			text.List(s.frames, "and"))
	case r.Divide < 0 || r.Divide != r.Divide || r.Divide > 1e12:
		return wrong("prices cannot be divided by %v points to a unit: give a positive number such as 100000", r.Divide)
	case r.From < 0 || r.To > 1<<33:
		return wrong("the span from %s to %s is not between 1970 and 2242", text.Minute(r.From), text.Minute(r.To))
	case r.Timeframe.End(r.Timeframe.Start(r.From)) > r.To:
		return wrong("no bar of %s opens after %s and has closed by %s: choose an earlier --from", r.Timeframe, text.Minute(r.From),
			text.Minute(r.To))
	}
	pieces := s.pieces(r)
	if len(pieces) > maxSpans {
		return wrong("the span needs %d requests to %s, and at most %d are made at once: choose a later --from or an earlier --to",
			len(pieces), r.Source, maxSpans)
	}
	return pieces, nil
}

// Fetch fetches one part. A piece for which the source has nothing has no bars.
func (f *Fetcher) Fetch(ctx context.Context, r Request, piece Piece) (Fetched, error) {
	s, err := f.source(r.Source)
	if err != nil {
		return Fetched{}, err
	}
	a, err := s.fetch(ctx, session{s, NameOf(r.Source), f.client}, r, piece)
	if err != nil {
		return Fetched{}, s.hidden(err)
	}
	part := a.part(r, piece)
	part.Notes = text.Map(part.Notes, s.hide)
	return part, nil
}

// part makes bars of rows: in order, each once, those of the piece that are finished.
func (a answer) part(r Request, piece Piece) Fetched {
	p := Fetched{Bars: &market.Bars{Symbol: r.Symbol, Timeframe: r.Timeframe}, Notes: a.notes}
	if a.spread {
		p.Bars.Spread = []float64{}
	}
	slices.SortStableFunc(a.rows, func(x, y market.Bar) int { return cmp.Compare(x.Time, y.Time) })
	until := r.To
	if a.until != 0 {
		until = min(until, a.until)
	}
	unfinished, differ := 0, 0
	for i, bar := range a.rows {
		switch {
		case bar.Time < max(piece.From, r.From) || bar.Time >= piece.To || bar.Time >= r.To:
		case r.Timeframe.End(bar.Time) > until:
			unfinished++
		case i+1 < len(a.rows) && a.rows[i+1].Time == bar.Time: // the last of several counts
			if !bar.Same(a.rows[i+1]) {
				differ++
			}
		default:
			p.Bars.Append(bar)
		}
	}
	if unfinished > 0 {
		p.Notes = append(p.Notes, text.Counted(unfinished, "bar")+" not finished yet: left out")
	}
	if differ > 0 {
		p.Notes = append(p.Notes, text.Counted(differ, "bar")+" came twice with different values: the last is used")
	}
	return p
}

// Probed is the result of a check of a source.
type Probed struct {
	Source string `json:"source"`
	Asked  string `json:"asked"`
	Bars   int    `json:"bars"`
	Last   int64  `json:"last"` // opening of the newest bar
	Millis int64  `json:"ms"`
	Label  string `json:"label"`
	Adjust string `json:"adjustment,omitempty"` // what was done to the prices
}

// Check fetches a little from a source at a time, to see whether it still answers as it should. A source
// of your own has no example: give the symbol and timeframe.
func (f *Fetcher) Check(ctx context.Context, name, symbol string, tf market.Timeframe, now time.Time) (Probed, error) {
	s, err := f.source(name)
	if err != nil {
		return Probed{}, err
	}
	r := s.example
	r.Source, r.Symbol, r.Timeframe = name, cmp.Or(symbol, r.Symbol), cmp.Or(tf, r.Timeframe)
	if r.Symbol == "" || r.Timeframe == "" {
		return Probed{}, ktrdr.Errorf(ktrdr.CodeInvalid, "%s has no example: name the SYMBOL and TIMEFRAME to try", NameOf(name))
	}
	r.To = now.Unix()
	r.From = r.To - max(8*day, 60*r.Timeframe.End(0))
	pieces, err := f.Pieces(r)
	if err != nil {
		return Probed{}, err
	}
	begun := time.Now()
	p := Probed{Source: NameOf(name), Asked: r.Symbol + " " + string(r.Timeframe), Label: r.Label(), Adjust: s.adjust}
	for i := len(pieces) - 1; i >= max(0, len(pieces)-5) && p.Bars == 0; i-- { // the newest that has bars
		part, err := f.Fetch(ctx, r, pieces[i])
		if err != nil {
			return p, err
		}
		if n := part.Bars.Len(); n > 0 {
			if _, err := market.Check(part.Bars, p.Asked); err != nil {
				return p, err
			}
			p.Bars, p.Last = n, part.Bars.Time[n-1]
		}
	}
	p.Millis = time.Since(begun).Milliseconds()
	if p.Bars == 0 {
		return p, ktrdr.Errorf(ktrdr.CodeFailed, "%s: it answered, and has no bars of %s since %s", p.Source, p.Asked,
			text.Minute(pieces[max(0, len(pieces)-5)].From))
	}
	return p, nil
}

// one is a request as one piece.
func one(r Request) []Piece { return []Piece{{r.Timeframe.Start(r.From), r.To}} }

// every cuts a request into pieces of a length, which begin at multiples of it.
func every(seconds int64) func(Request) []Piece {
	return func(r Request) []Piece {
		var all []Piece
		for t := r.From - r.From%seconds; t < r.To && len(all) <= maxSpans; t += seconds {
			all = append(all, Piece{t, t + seconds})
		}
		return all
	}
}

const day = 24 * 3600

// months are the calendar months, UTC, of a request.
func months(r Request) []Piece {
	var all []Piece
	for t := market.Mo1.Start(r.From); t < r.To && len(all) <= maxSpans; {
		end := market.Mo1.End(t)
		all = append(all, Piece{t, end})
		t = end
	}
	return all
}

func utc(t int64) time.Time { return time.Unix(t, 0).UTC() }

func dateOf(t int64) string { return utc(t).Format(time.DateOnly) }
