package jobs

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/market"
)

// Bars is a series that an operation reads: a bars file in the blob store, which
// stays there as long as a spec names it.
type Bars struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Hash      ktrdr.Hash       `json:"bars_hash"` // of the series: market.Bars.Hash
	ktrdr.Artifact
	// MadeUp says that bars of the series were made up; nil: not known. It changes
	// no figure, and so no hash.
	MadeUp *bool `json:"made_up,omitempty"`
	// Context says that indicators read the series and that it is not traded.
	Context bool `json:"context,omitempty"`
}

// Context marks bars as those of context symbols.
func Context(bars []Bars) []Bars {
	marked := slices.Clone(bars)
	for i := range marked {
		marked[i].Context = true
	}
	return marked
}

// TradedBars are the bars that are not of a context symbol.
func TradedBars(bars []Bars) []Bars {
	return slices.DeleteFunc(slices.Clone(bars), func(b Bars) bool { return b.Context })
}

// AnyMadeUp says whether one of the series is made up; nil: not known.
func AnyMadeUp(bars []Bars) *bool {
	return ktrdr.AnyMadeUp(text.Map(bars, func(b Bars) *bool { return b.MadeUp })...)
}

// TrialBars name the bars in the ledger.
func TrialBars(bars []Bars) []ktrdr.TrialBars {
	return text.Map(bars, func(b Bars) ktrdr.TrialBars {
		return ktrdr.TrialBars{Symbol: b.Symbol, Timeframe: string(b.Timeframe), Hash: b.Hash}
	})
}

// TrainingSpec is all that a training needs.
type TrainingSpec struct {
	Strategy    string    `json:"strategy_yaml"`
	Seed        uint64    `json:"seed"`
	Start       time.Time `json:"start,omitzero"` // bounds of the samples; zero leaves the strategy's
	End         time.Time `json:"end,omitzero"`
	KernelClass string    `json:"kernel_class"` // which bits: see neural.Kernel
	Bars        []Bars    `json:"bars"`
	Opens       *Opening  `json:"opens,omitempty"` // it reads bars of a holdout
}

// Scope is which part of the bars a backtest trades.
type Scope string

// The scopes.
const (
	ScopeTest Scope = "test" // bars that nothing of the model was fitted to
	ScopeAll  Scope = "all"  // every bar, those of the training included
)

// BacktestSpec is all that a backtest needs.
type BacktestSpec struct {
	Model     ktrdr.Artifact     `json:"model"`
	Symbol    string             `json:"symbol,omitempty"`  // the only one that is traded
	Symbols   []string           `json:"symbols,omitempty"` // several: an account for each, in this order
	Scope     Scope              `json:"scope"`
	Start     time.Time          `json:"start,omitzero"` // bounds of trading; zero leaves the strategy's
	End       time.Time          `json:"end,omitzero"`
	Overrides backtest.Overrides `json:"overrides"`
	// SymbolOverrides are the costs of single symbols, where several are traded.
	SymbolOverrides map[string]backtest.Overrides `json:"symbol_overrides,omitempty"`
	Bars            []Bars                        `json:"bars"`
	Opens           *Opening                      `json:"opens,omitempty"` // it trades bars of a holdout
}

// Opening is a look at the holdout of markets that a person asked for. It changes
// no figure, and so no hash; it is counted.
type Opening struct {
	Research ktrdr.OperationID `json:"research_operation_id,omitempty"` // that the model comes from
	From     time.Time         `json:"from"`                            // the earliest of the holdout starts
	Markets  []string          `json:"markets,omitempty"`
	Holdout  []ktrdr.Hash      `json:"holdout,omitempty"` // of operations that an earlier version created
}

// LoadSpec is all that an import needs.
type LoadSpec struct {
	Source    ktrdr.Artifact   `json:"source"`
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe,omitempty"` // empty means the one that the times show
	Zone      string           `json:"zone,omitempty"`      // of times that carry none; empty means that of the format, else UTC
	Dates     market.DateOrder `json:"dates,omitempty"`     // of day and month; empty means what the dates show
	Decimal   string           `json:"decimal,omitempty"`   // comma or point; empty means what the numbers show
	Adjusted  bool             `json:"adjusted,omitempty"`  // prices are scaled to the adjusted close
	Divide    float64          `json:"divide,omitempty"`    // prices are in points: how many make one unit
	Normalise bool             `json:"normalise,omitempty"` // mend what is wrong instead of refusing it
	Mode      ImportMode       `json:"mode,omitempty"`      // what to do where the series exists

	SameMarketAs string `json:"same_market_as,omitempty"` // what the user says where the prices do not decide: a symbol or a market
	NewMarket    bool   `json:"new_market,omitempty"`

	DryRun bool `json:"dry_run,omitempty"` // read and report, store nothing

	Folder string `json:"folder,omitempty"` // that is followed, and has the file
	Turn   int64  `json:"turn,omitempty"`   // of it, Unix seconds
}

// FetchSpec is all that a fetch needs. Its end is fixed when it is made, so that it
// brings the same bars whenever it ends.
type FetchSpec struct {
	Source    string           `json:"source"` // name of a source, or url:TEMPLATE
	Ticker    string           `json:"ticker"` // the symbol as the source writes it
	Symbol    string           `json:"symbol"` // of the series
	Timeframe market.Timeframe `json:"timeframe"`
	From      time.Time        `json:"from"`
	To        time.Time        `json:"to"` // only bars that have closed by then
	Divide    float64          `json:"divide,omitempty"`
	Mode      ImportMode       `json:"mode"` // append or replace

	SameMarketAs string `json:"same_market_as,omitempty"`
	NewMarket    bool   `json:"new_market,omitempty"`

	Turn int64 `json:"turn,omitempty"` // of the series that is followed, Unix seconds; absent: a person asked for it
}

// Validate says what is wrong with the spec, apart from what its source knows.
func (s FetchSpec) Validate() error {
	return errors.Join(
		require(s.Source != "", "source is empty: name one, such as binance"),
		require(s.Ticker != "", "symbol is empty: write it as the source does"),
		require(s.Symbol != "", "symbol is empty"),
		require(s.Mode == ImportAppend || s.Mode == ImportReplace, "mode is %q; it is append or replace", s.Mode),
		require(s.SameMarketAs == "" || !s.NewMarket, "same_market_as and new_market contradict each other: give one of them"),
	)
}

// MaxSeed is the largest whole number that every reader of JSON keeps.
const MaxSeed = 1 << 53

// Validate says what is wrong with the spec, apart from its strategy.
func (s TrainingSpec) Validate() error {
	return errors.Join(
		require(s.Strategy != "", "strategy_yaml is empty"),
		require(s.Seed <= MaxSeed, "seed is %d; at most %d is allowed", s.Seed, uint64(MaxSeed)),
		checkSpan(s.Start, s.End), checkBars(s.Bars),
	)
}

// Validate says what is wrong with the spec.
func (s BacktestSpec) Validate() error {
	return errors.Join(
		require(s.Model.SHA256 != ktrdr.Hash{}, "model has no sha256"),
		require(s.Scope == ScopeTest || s.Scope == ScopeAll, "scope is %q; it is test or all", s.Scope),
		require((s.Symbol != "") != (len(s.Symbols) > 1),
			"it names the symbol %q and the symbols %q; it must name one symbol, or several as symbols", s.Symbol, s.Symbols),
		checkSpan(s.Start, s.End), checkBars(s.Bars),
	)
}

// Validate says what is wrong with the spec.
func (s LoadSpec) Validate() error {
	return errors.Join(require(s.Source.SHA256 != ktrdr.Hash{}, "source has no sha256"), s.CheckFormat())
}

// CheckFormat says what is wrong with how the source is to be read.
func (s LoadSpec) CheckFormat() error {
	_, zone := time.LoadLocation(s.Zone)
	if zone != nil {
		zone = fmt.Errorf("zone %q is no time zone: give one like Europe/Athens or UTC", s.Zone)
	}
	_, dates := market.ParseDateOrder(string(s.Dates))
	_, decimal := market.ParseDecimal(s.Decimal)
	return errors.Join(
		dates, decimal,
		require(s.Symbol != "", "symbol is empty"),
		require(s.Divide >= 0, "divide is %v; it must be positive", s.Divide),
		zone,
	)
}

func require(ok bool, format string, args ...any) error {
	if ok {
		return nil
	}
	return fmt.Errorf(format, args...)
}

func checkSpan(start, end time.Time) error {
	return require(start.IsZero() || end.IsZero() || start.Before(end), "it ends at %s, not after its start at %s", end, start)
}

func checkBars(bars []Bars) error {
	var errs []error
	for i, b := range bars {
		errs = append(errs,
			require(b.Symbol != "" && b.Timeframe != "" && b.SHA256 != ktrdr.Hash{}, "bars[%d] lacks its symbol, timeframe or sha256", i))
	}
	return errors.Join(append(errs, require(len(bars) > 0, "there are no bars"))...)
}

// Verify checks that b is the series that a spec names. CodeInvalid.
func (want Bars) Verify(b *market.Bars) error {
	if b.Symbol != want.Symbol || b.Timeframe != want.Timeframe || ktrdr.Hash(b.Hash()) != want.Hash {
		return ktrdr.Errorf(ktrdr.CodeInvalid, "%s holds %s %s and not the series that the spec names", want.Name, b.Symbol, b.Timeframe)
	}
	return nil
}

// Traded are the symbols of a backtest, in the order of its accounts.
func (s BacktestSpec) Traded() []string { return traded(s.Symbol, s.Symbols) }

func traded(one string, several []string) []string {
	if len(several) > 0 {
		return several
	}
	return []string{one}
}

// Trade sets the symbols that are traded: one account for each.
func (s *BacktestSpec) Trade(symbols []string) {
	s.Symbol, s.Symbols = oneOrSeveral(symbols)
}

func oneOrSeveral(symbols []string) (one string, several []string) {
	if len(symbols) == 1 {
		return symbols[0], nil
	}
	return "", symbols
}

// OverridesFor are those of a symbol's account.
func (s BacktestSpec) OverridesFor(symbol string) backtest.Overrides {
	o := s.Overrides
	if own, ok := s.SymbolOverrides[symbol]; ok {
		o.Commission, o.Slippage, o.Spread = own.Commission, own.Slippage, own.Spread
		o.CarryLong, o.CarryShort = own.CarryLong, own.CarryShort
	}
	return o
}

// Charge sets what trading a symbol costs.
func (s *BacktestSpec) Charge(symbol string, commission, slippage, spread float64) {
	s.override(symbol, func(o *backtest.Overrides) { o.Commission, o.Slippage, o.Spread = &commission, &slippage, &spread })
}

// ChargeCarry sets what holding a symbol costs in a year.
func (s *BacktestSpec) ChargeCarry(symbol string, long, short float64) {
	if long != 0 || short != 0 {
		s.override(symbol, func(o *backtest.Overrides) { o.CarryLong, o.CarryShort = long, short })
	}
}

func (s *BacktestSpec) override(symbol string, set func(*backtest.Overrides)) {
	if len(s.Symbols) == 0 {
		set(&s.Overrides)
		return
	}
	if s.SymbolOverrides == nil {
		s.SymbolOverrides = map[string]backtest.Overrides{}
	}
	o := s.SymbolOverrides[symbol]
	set(&o)
	s.SymbolOverrides[symbol] = o
}

// Warning says what an opening is.
func (o Opening) Warning() string {
	of := "the market"
	if o.Research != "" {
		of = "the market that " + string(o.Research) + " searched"
	}
	return fmt.Sprintf("the bars after %s are the holdout of %s: reading them is a look, which is counted against every later confirmation "+
		"on this market", text.Minute(o.From.Unix()), of)
}

// ImportMode says what an import does where the series exists.
type ImportMode string

// Modes of an import.
const (
	ImportNew     ImportMode = ""        // it is refused
	ImportReplace ImportMode = "replace" // the new bars take the place of the old
	ImportAppend  ImportMode = "append"  // the new bars are added to the old
)

// Validate refuses what is no mode.
func (m ImportMode) Validate() error {
	switch m {
	case ImportNew, ImportReplace, ImportAppend:
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeInvalid, "mode %q is unknown: use replace or append", string(m))
}

// Exists refuses an import of a series that exists, unless the mode allows it.
func (m ImportMode) Exists(e SeriesInfo) error {
	if m != ImportNew {
		return nil
	}
	return ktrdr.Errorf(ktrdr.CodeConflict,
		"the lab has %v already: add the new bars to it with --append, or let them take its place with --replace "+
			"(in the API: mode append, mode replace)", e)
}
