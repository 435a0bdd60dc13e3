package jobs

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
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
}

// AnyMadeUp says whether one of the series is made up; nil: not known.
func AnyMadeUp(bars []Bars) *bool {
	of := make([]*bool, len(bars))
	for i, b := range bars {
		of[i] = b.MadeUp
	}
	return ktrdr.AnyMadeUp(of...)
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
	Model     ktrdr.Artifact  `json:"model"`
	Symbol    string          `json:"symbol,omitempty"`  // the only one that is traded
	Symbols   []string        `json:"symbols,omitempty"` // several: an account for each, in this order
	Scope     Scope           `json:"scope"`
	Start     time.Time       `json:"start,omitzero"` // bounds of trading; zero leaves the strategy's
	End       time.Time       `json:"end,omitzero"`
	Overrides train.Overrides `json:"overrides"`
	// SymbolOverrides are the costs of single symbols, where several are traded.
	SymbolOverrides map[string]train.Overrides `json:"symbol_overrides,omitempty"`
	Bars            []Bars                     `json:"bars"`
	Opens           *Opening                   `json:"opens,omitempty"` // it trades bars of a holdout
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
	Zone      string           `json:"zone,omitempty"`      // of times that carry none; empty means UTC
	Divide    float64          `json:"divide,omitempty"`    // prices are points, so many to a unit
	Normalise bool             `json:"normalise,omitempty"` // mend what is wrong instead of refusing it
	Mode      ImportMode       `json:"mode,omitempty"`      // what to do where the series exists

	SameMarketAs string `json:"same_market_as,omitempty"` // what the user says where the prices do not decide: a symbol or a market
	NewMarket    bool   `json:"new_market,omitempty"`
}

// maxSeed is the largest whole number that every reader of JSON keeps.
const maxSeed = 1 << 53

// Validate says what is wrong with the spec, apart from its strategy.
func (s TrainingSpec) Validate() error {
	_, kernel := neural.KernelFor(s.KernelClass)
	return errors.Join(
		require(s.Strategy != "", "strategy_yaml is empty"),
		require(s.Seed <= maxSeed, "seed is %d; at most %d is allowed", s.Seed, uint64(maxSeed)),
		kernel, checkSpan(s.Start, s.End), checkBars(s.Bars),
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
	return errors.Join(require(s.Source.SHA256 != ktrdr.Hash{}, "source has no sha256"), s.readable())
}

// readable says what is wrong with how the source is to be read.
func (s LoadSpec) readable() error {
	_, zone := time.LoadLocation(s.Zone)
	if zone != nil {
		zone = fmt.Errorf("zone %q is no time zone: give one like Europe/Athens or UTC", s.Zone)
	}
	return errors.Join(
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

// operation makes the request that creates an operation.
func operation(t ktrdr.Type, spec, metadata any) (ktrdr.NewOperation, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("%s spec: %w", t, err)
	}
	about, err := json.Marshal(metadata)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("%s metadata: %w", t, err)
	}
	return ktrdr.NewOperation{Type: t, Spec: text, Metadata: about}, nil
}

// Numerics of a backtest: how orders are filled and figures made.
const backtestNumerics = "backtest/1"

// Fingerprints tell, by type, what an operation would be run from now. A
// checkpoint that was made from anything else is not gone on with.
func Fingerprints() map[ktrdr.Type]func(spec []byte) (map[string]string, error) {
	return map[ktrdr.Type]func([]byte) (map[string]string, error){
		ktrdr.Training: func(text []byte) (map[string]string, error) {
			spec, err := ktrdr.ParseSpec[TrainingSpec](text)
			if err != nil {
				return nil, err
			}
			s, err := spec.parsed()
			if err != nil {
				return nil, err
			}
			return spec.fingerprint(s), nil
		},
		ktrdr.Backtesting: func(text []byte) (map[string]string, error) {
			spec, err := ktrdr.ParseSpec[BacktestSpec](text)
			return spec.fingerprint(), err
		},
	}
}

func (s TrainingSpec) parsed() (*strategy.Strategy, error) {
	parsed, _, err := strategy.Parse([]byte(s.Strategy), "strategy")
	if err != nil {
		return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%w", err)
	}
	return parsed, nil
}

func (s TrainingSpec) fingerprint(parsed *strategy.Strategy) map[string]string {
	return map[string]string{
		"strategy": ktrdr.Hash(parsed.Hash()).String(),
		"data":     dataHash(s.Bars),
		"seed":     fmt.Sprint(s.Seed),
		"dates":    span(s.Start, s.End),
		"numerics": train.Numerics + " " + neural.Numerics + " " + s.KernelClass,
	}
}

func (s BacktestSpec) fingerprint() map[string]string {
	settings, _ := json.Marshal(s.Overrides) // numbers only
	if len(s.SymbolOverrides) > 0 {
		each, _ := json.Marshal(s.SymbolOverrides) // sorted by symbol
		settings = append(append(settings, ' '), each...)
	}
	return map[string]string{
		"model":    s.Model.SHA256.String(),
		"data":     dataHash(s.Bars),
		"dates":    string(s.Scope) + " " + span(s.Start, s.End),
		"settings": strings.Join(s.Traded(), ",") + " " + string(settings),
		"numerics": backtestNumerics + " " + train.Numerics + " " + neural.Numerics,
	}
}

func span(start, end time.Time) string {
	text := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.UTC().Format(time.RFC3339)
	}
	return text(start) + " to " + text(end)
}

// dataHash is one hash for all the series, in the order in which they are read.
func dataHash(bars []Bars) string {
	h := sha256.New()
	for _, b := range bars {
		fmt.Fprintf(h, "%s %s %s\n", b.Symbol, b.Timeframe, b.Hash)
	}
	return ktrdr.Hash(h.Sum(nil)).String()
}
