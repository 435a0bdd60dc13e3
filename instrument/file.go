package instrument

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/internal/yamldoc"
)

// FileName is the name of the file in the data folder.
const FileName = "instruments.yaml"

// Instrument is what a file says about a symbol. More may come to be said of
// one, each under its own key.
//
//	instruments:
//	  EURUSD:
//	    class: major_fx
//	    costs: {commission: 0.3, slippage: 0.2, spread: 0.8}   # basis points
//	    swap: {long: 2.1, short: -0.8}                         # percent of a year
//	  AAPL:
//	    venue: NYSE
//	    splits: [{on: 2020-08-31, ratio: 4}]
//	    dividends: [{on: 2024-05-10, amount: 0.25}]
//	    borrow: 0.5
//	  ES:
//	    rolls: [{on: 2024-06-17, from: 5431, to: 5492.25}]
//	venues:
//	  NYSE: {zone: America/New_York, open: 09:30, close: 16:00, holidays: [2024-07-04]}
type Instrument struct {
	Symbol  string   // as the file spells it
	Class   Class    // empty: not said
	Costs   *Costs   // nil: not said
	Events  []Event  // splits, dividends and rolls, in the order of their days
	Session *Session // of its venue; nil: not said
	Swap    Carry    // for holding a position overnight
	Funding float64  // of a perpetual future: a fraction of a year, which longs pay to shorts
	Borrow  float64  // of shares that are sold short: a fraction of a year
}

// File is the instruments of a file by symbol in capitals. The zero File has none.
type File map[string]Instrument

// Find returns what the file says about a symbol; nothing is said of one that the file does not name.
func (f File) Find(symbol string) Instrument { return f[strings.ToUpper(symbol)] }

const maxInstruments = 2000

var limits = yamldoc.Limits{What: "this file", Bytes: 256 << 10, Tokens: 60_000, Depth: 8}

// ReadFile reads the file of a data folder. A file that does not exist has no instruments.
func ReadFile(path string) (File, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("instruments: %w", err)
	}
	defer func() { _ = f.Close() }() // only read
	text, err := io.ReadAll(io.LimitReader(f, int64(limits.Bytes)+1))
	if err != nil {
		return nil, fmt.Errorf("instruments: %w", err)
	}
	return Parse(filepath.Base(path), text)
}

// Parse reads the text of a file. The error lists every problem with its line and
// column. Unknown keys, keys given twice, anchors, aliases and tags are problems.
func Parse(name string, text []byte) (File, error) {
	p := &fileParser{name: name, file: File{}, venues: map[string]*Session{}}
	root, wrong := yamldoc.Parse(text, limits)
	switch {
	case wrong != nil:
		p.badAt(wrong.Position, wrong.Message)
	case root != nil && root.Type() != ast.NullType:
		p.keys(root, "", []key{{"instruments", p.instruments}, {"venues", p.venuesOf}})
	}
	p.placeInVenues()
	if err := errors.Join(p.problems...); err != nil {
		return nil, err
	}
	return p.file, nil
}

type key struct {
	name string
	read func(n ast.Node, path string)
}

// keys reads a mapping whose keys are known. It returns those that are given.
func (p *fileParser) keys(n ast.Node, path string, known []key) []string {
	var found []string
	p.mapping(n, path, func(name string, at, value ast.Node) {
		i := slices.IndexFunc(known, func(k key) bool { return k.name == name })
		if i < 0 {
			p.bad(at, "%sthere is no key %.60q%s", where(path), name, nearest(name, known))
			return
		}
		found = append(found, name)
		known[i].read(value, join(path, name))
	})
	return found
}

func (p *fileParser) instruments(n ast.Node, path string) {
	if values, _ := yamldoc.Entries(n); len(values) > maxInstruments {
		p.bad(n, "%sthere are %d symbols; at most %d are allowed", where(path), len(values), maxInstruments)
		return
	}
	p.mapping(n, path, func(symbol string, at, value ast.Node) {
		if symbol == EverySymbol || strings.TrimSpace(symbol) != symbol || symbol == "" {
			p.bad(at, "%s%.60q is not a symbol; name one, such as EURUSD, and set all others with --costs or KTRDR_COSTS", where(path), symbol)
			return
		}
		if first, twice := p.file[strings.ToUpper(symbol)]; twice {
			p.bad(at, "%s%.60s is given twice, first as %.60s; capitals do not tell symbols apart", where(path), symbol, first.Symbol)
			return
		}
		p.file[strings.ToUpper(symbol)] = p.instrument(symbol, value, join(path, symbol))
	})
}

func (p *fileParser) instrument(symbol string, n ast.Node, path string) Instrument {
	x := Instrument{Symbol: symbol}
	p.keys(n, path, []key{
		{"class", func(n ast.Node, path string) {
			class, ok := textOf(n)
			if x.Class = Class(class); !ok || !x.Class.Valid() {
				p.bad(n, "%sit must be a class, not %s; %s", where(path), shown(n), text.Choices(class, Classes()))
			}
		}},
		{"costs", func(n ast.Node, path string) { x.Costs = p.costs(n, path) }},
		{"splits", func(n ast.Node, path string) { x.Events = append(x.Events, p.events(n, path, SplitEvent)...) }},
		{"dividends", func(n ast.Node, path string) { x.Events = append(x.Events, p.events(n, path, DividendEvent)...) }},
		{"rolls", func(n ast.Node, path string) { x.Events = append(x.Events, p.events(n, path, RollEvent)...) }},
		{"venue", func(n ast.Node, _ string) { p.placed = append(p.placed, placedIn{strings.ToUpper(symbol), n}) }},
		{"swap", func(n ast.Node, path string) { x.Swap = p.swap(n, path) }},
		{"funding", func(n ast.Node, path string) { x.Funding = p.rate(n, path) }},
		{"borrow", func(n ast.Node, path string) { x.Borrow = p.number(n, path, 0, 100*MaxCarry) / 100 }},
	})
	sortEvents(x.Events)
	return x
}

// placeInVenues gives symbols the sessions of their venues, which may stand below them.
func (p *fileParser) placeInVenues() {
	for _, at := range p.placed {
		name, _ := textOf(at.venue)
		session, ok := p.venues[name]
		if !ok {
			p.bad(at.venue, "there is no venue %s; %s", shown(at.venue), text.Choices(name, slices.Sorted(maps.Keys(p.venues))))
			continue
		}
		x := p.file[at.symbol]
		x.Session = session
		p.file[at.symbol] = x
	}
}

// costs reads the three rates, all of which must be given: a rate that was forgotten must not count as 0.
func (p *fileParser) costs(n ast.Node, path string) *Costs {
	var c Costs
	rates := []struct {
		name string
		rate *float64
	}{{"commission", &c.Commission}, {"slippage", &c.Slippage}, {"spread", &c.Spread}}
	var known []key
	for _, r := range rates {
		known = append(known, key{r.name, func(n ast.Node, path string) {
			points, ok := fromPoints(numberOf(n))
			if *r.rate = points; !ok || !(points >= 0 && points <= MaxRate) {
				p.bad(n, "%sit must be a number of basis points from 0 to %s, not %s", where(path), Points(MaxRate), shown(n))
			}
		}})
	}
	before := len(p.problems)
	found := p.keys(n, path, known)
	var missing []string
	for _, r := range rates {
		if !slices.Contains(found, r.name) {
			missing = append(missing, r.name)
		}
	}
	if len(missing) > 0 && len(p.problems) == before { // a misspelt key explains itself
		p.bad(n, "%smissing: %s; write 0 where nothing is charged", where(path), strings.Join(missing, ", "))
	}
	return &c
}

// nearest suggests the key that a misspelt one is nearest to, or lists all.
func nearest(name string, known []key) string {
	all := text.Map(known, func(k key) string { return k.name })
	if best := text.Nearest(name, all); best != "" {
		return "; did you mean " + best + "?"
	}
	return "; the keys here are " + strings.Join(all, ", ")
}
