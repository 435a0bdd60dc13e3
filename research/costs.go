package research

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/strategy"
)

// CostSource says where costs come from.
type CostSource string

// The sources of a symbol's costs. The first that names the symbol decides.
const (
	CostsOfRun      CostSource = "run"               // the request: --costs
	CostsOfFile     CostSource = instrument.FileName // in the data folder
	CostsOfSettings CostSource = "KTRDR_COSTS"
	CostsByDefault  CostSource = "default" // of the asset class

	// CostsOfStrategy are those of a backtest section that is not below the
	// floor. It is a source of paid costs only.
	CostsOfStrategy CostSource = "strategy"
)

// ClassSource says where the asset class of a symbol comes from.
type ClassSource string

// The sources of an asset class.
const (
	ClassOfFile ClassSource = instrument.FileName
	ClassByName ClassSource = "name"
	ClassGuess  ClassSource = "unknown" // no rule recognises the name: a class with the highest default
)

// SymbolCosts is the cost floor of a symbol: in a research every strategy pays
// at least this for trading it. A spec pins one for each symbol.
type SymbolCosts struct {
	Symbol      string           `json:"symbol"`
	Class       instrument.Class `json:"class"`
	ClassSource ClassSource      `json:"class_source"`
	Source      CostSource       `json:"source"`
	instrument.Costs
	// Measured is the typical spread of the bars before the holdout, as a fraction; 0
	// where they have no spreads.
	Measured float64 `json:"measured_spread,omitempty"`

	instrument.Carry // of holding the symbol: what the file of instruments says
}

// overrides are the costs as a backtest charges them.
func (c SymbolCosts) overrides() backtest.Overrides {
	return backtest.Overrides{
		Commission: &c.Commission, Slippage: &c.Slippage, Spread: &c.Spread, CarryLong: c.Long, CarryShort: c.Short,
	}
}

// PaidCosts is what a strategy paid for trading a symbol in a research.
type PaidCosts struct {
	SymbolCosts                    // the costs that were paid; Source says where they come from
	BelowDefault bool              `json:"below_default"`       // of the asset class
	Overruled    *instrument.Costs `json:"overruled,omitempty"` // the strategy's own backtest section, where it is below the floor
}

type costSources struct {
	run, settings instrument.Table
	file          instrument.File
}

func (s costSources) of(symbol string) SymbolCosts {
	class, known := instrument.ClassOf(symbol)
	c := SymbolCosts{Symbol: symbol, Source: CostsByDefault, Class: class, ClassSource: ClassGuess}
	about := s.file.Find(symbol)
	c.Carry = about.Carry()
	if about.Class != "" {
		c.Class, c.ClassSource = about.Class, ClassOfFile
	} else if known {
		c.ClassSource = ClassByName
	}
	if costs, ok := s.run.Find(symbol); ok {
		c.Costs, c.Source = costs, CostsOfRun
	} else if about.Costs != nil {
		c.Costs, c.Source = *about.Costs, CostsOfFile
	} else if costs, ok := s.settings.Find(symbol); ok {
		c.Costs, c.Source = costs, CostsOfSettings
	} else {
		c.Costs = c.Class.Costs()
	}
	return c
}

// CostsOfTable are the costs of symbols as a backend with this table has them. A symbol
// that is not in the table has the default costs of its asset class.
func CostsOfTable(t instrument.Table, symbols []string) []SymbolCosts {
	return text.Map(symbols, costSources{settings: t}.of)
}

// costs resolves the costs of a request. A change of the file needs no restart.
func (d *Desk) costs(ctx context.Context, t Request, about subject, file instrument.File) ([]SymbolCosts, []string, error) {
	from := costSources{settings: d.cfg.Costs, file: file}
	var err error
	if t.Costs != "" {
		if from.run, err = instrument.ParseTable(t.Costs); err != nil {
			return nil, nil, wrong("costs: %w", err)
		}
	}
	warnings, err := d.unusedCosts(ctx, from.run, about.symbols)
	if err != nil {
		return nil, nil, err
	}
	var all []SymbolCosts
	for _, symbol := range about.symbols {
		c := from.of(symbol)
		all, warnings = append(all, c), append(warnings, c.warnings()...)
	}
	if about.text != "" {
		s, err := readStrategy(about.text, about.name)
		if err != nil {
			return nil, nil, wrong("correct the strategy: %w", err)
		}
		for _, c := range all {
			if own := costsOf(s.Strategy); own.Below(c.Costs) {
				warnings = append(warnings, c.raised(own, "is traded"))
			}
		}
	}
	return all, warnings, nil
}

// instruments reads the file of instruments, once for each request.
func (d *Desk) instruments(ctx context.Context) (instrument.File, error) {
	if d.cfg.Instruments == nil {
		return nil, nil
	}
	file, err := d.cfg.Instruments(ctx)
	if err != nil {
		return nil, wrong("correct %s in the data folder of the backend: %w", instrument.FileName, err)
	}
	return file, nil
}

// unusedCosts says which symbols the costs of a request name for nothing. One
// that the library does not have is refused: it is misspelt.
func (d *Desk) unusedCosts(ctx context.Context, run instrument.Table, symbols []string) ([]string, error) {
	traded := func(name string) bool {
		return name == instrument.EverySymbol || slices.ContainsFunc(symbols, func(s string) bool { return strings.EqualFold(s, name) })
	}
	named := slices.DeleteFunc(slices.Sorted(maps.Keys(run)), traded)
	if len(named) == 0 {
		return nil, nil
	}
	known, err := d.known(ctx)
	if err != nil {
		return nil, err
	}
	var warnings []string
	for _, name := range named {
		if !slices.ContainsFunc(known.Series, func(s designer.KnownSeries) bool { return strings.EqualFold(s.Symbol, name) }) {
			return nil, wrong("costs: there are no bars of %.60s%s", name, nearestSymbol(name, known))
		}
		warnings = append(warnings, fmt.Sprintf("costs: %s is not traded in this run, so its costs have no effect.", name))
	}
	return warnings, nil
}

func nearestSymbol(name string, known designer.Known) string {
	if best := known.Nearest(name); best != "" {
		return "; did you mean " + best + "?"
	}
	return ": `ktrdr data list` shows the symbols"
}

// Dearest are the highest costs: a design has one backtest section for all symbols.
func Dearest(all []SymbolCosts) (most instrument.Costs) {
	for _, c := range all {
		if c.PerSide() >= most.PerSide() {
			most = c.Costs
		}
	}
	return most
}

func (c SymbolCosts) warnings() (all []string) {
	if c.Source == CostsByDefault {
		set := fmt.Sprintf(" Set its costs with --costs %s=%s, in %s or with KTRDR_COSTS.", c.Symbol, c.Costs, instrument.FileName)
		all = append(all, c.byDefault("pays")+set)
	}
	if c.Below(c.Class.Costs()) {
		all = append(all, c.below()+" Its results are marked.")
	}
	return all
}

func (c SymbolCosts) byDefault(pays string) string {
	said := fmt.Sprintf("No costs are set for %s, so it %s the default for %s: %s.", c.Symbol, pays, c.Class, c.sideText())
	if c.ClassSource == ClassGuess {
		said += " Its asset class is not known from its name, so this is a class with the highest default; set the class in " +
			instrument.FileName + "."
	}
	return said
}

func (c SymbolCosts) below() string {
	return fmt.Sprintf("The costs of %s (%s) are below the default for %s: %s, where the default is %s.",
		c.Symbol, c.sourceText(), c.Class, c.sideText(), instrument.Points(c.Class.Costs().PerSide()))
}

func (c SymbolCosts) raised(own instrument.Costs, is string) string {
	const form = "The strategy's backtest section (%s basis points a side) is below the cost floor of %s, so it %s at the floor: %s (%s)."
	return fmt.Sprintf(form, instrument.Points(own.PerSide()), c.Symbol, is, c.sideText(), c.sourceText())
}

func (c SymbolCosts) sideText() string {
	return instrument.Points(c.PerSide()) + " basis points a side"
}

// Charged says all that trading and holding the symbol costs.
func (c SymbolCosts) Charged() string {
	return fmt.Sprintf("%.3g bp a side (commission %s, slippage %s, half the spread of %s; %s); %s", c.PerSide()*instrument.BasisPoints,
		instrument.Points(c.Commission), instrument.Points(c.Slippage), instrument.Points(c.Spread), c.sourceText(), heldText(c.Carry))
}

// heldText says what holding costs, or pays.
func heldText(c instrument.Carry) string {
	if c == (instrument.Carry{}) {
		return "holding costs nothing"
	}
	side := func(rate float64) string {
		verb := "costs"
		if rate < 0 {
			verb = "pays"
		}
		return fmt.Sprintf("%s %.3g %%", verb, 100*math.Abs(rate))
	}
	return fmt.Sprintf("holding long %s a year, short %s (%s)", side(c.Long), side(c.Short), instrument.FileName)
}

func (c SymbolCosts) sourceText() string {
	switch c.Source {
	case CostsByDefault:
		return fmt.Sprintf("default: %s", c.Class)
	case CostsOfRun:
		return "set for this run"
	case "":
		return "source not recorded"
	}
	return string(c.Source)
}

// floor is the cost floor of a symbol. A research that was created before
// floors were pinned has one floor for all symbols.
func (s *Spec) floor(symbol string) SymbolCosts {
	for _, c := range s.SymbolCosts {
		if strings.EqualFold(c.Symbol, symbol) {
			return c
		}
	}
	c := costSources{}.of(symbol)
	c.Costs, c.Source = s.Costs, ""
	return c
}

func (s *Spec) checkCosts() (err error) {
	for _, c := range s.SymbolCosts {
		if bad := c.Validate(); bad != nil {
			err = errors.Join(err, fmt.Errorf("symbol_costs of %s: %w", c.Symbol, bad))
		}
		err = errors.Join(err, require(c.Class.Valid(), "symbol_costs of %s: there is no asset class %q", c.Symbol, string(c.Class)))
	}
	return err
}

func costsOf(s *strategy.Strategy) instrument.Costs {
	b := s.Backtest
	return instrument.Costs{Commission: b.Commission, Slippage: b.Slippage, Spread: b.Spread}
}

// Overruled says that a backtest section is below the floor; "" if it is not.
func Overruled(s *strategy.Strategy, floor instrument.Costs) string {
	own := costsOf(s)
	if !own.Below(floor) {
		return ""
	}
	return fmt.Sprintf("The backtest section (%s basis points a side) is below the cost floor, "+
		"so the strategy is traded at the floor: %s basis points a side.", instrument.Points(own.PerSide()), instrument.Points(floor.PerSide()))
}

func (r *research) atFloor(b *jobs.BacktestSpec) error {
	s, err := readStrategy(r.state.Strategy, r.state.StrategyName)
	if err != nil {
		return err
	}
	own := costsOf(s.Strategy)
	for _, symbol := range b.Traded() {
		if paid := own.AtLeast(r.spec.floor(symbol).Costs); paid != own {
			b.Charge(symbol, paid.Commission, paid.Slippage, paid.Spread)
		}
		carry := r.spec.floor(symbol).Carry
		b.ChargeCarry(symbol, carry.Long, carry.Short)
	}
	return nil
}

func (r *research) paid(run *jobs.BacktestResult) (all []PaidCosts, err error) {
	s, err := readStrategy(r.state.Strategy, r.state.StrategyName)
	if err != nil {
		return nil, err
	}
	accounts := run.Accounts
	if len(accounts) == 0 {
		accounts = []jobs.AccountResult{{Symbol: run.Symbol, Config: run.Config}}
	}
	for _, a := range accounts {
		c := a.Config
		all = append(all,
			paidOf(costsOf(s.Strategy), r.spec.floor(a.Symbol), instrument.Costs{Commission: c.Commission, Slippage: c.Slippage, Spread: c.Spread}))
	}
	return all, nil
}

func paidOf(own instrument.Costs, floor SymbolCosts, paid instrument.Costs) PaidCosts {
	p := PaidCosts{SymbolCosts: floor}
	p.Costs = paid
	switch {
	case own.Below(paid):
		p.Overruled = &own
	case floor.Costs.Below(paid):
		p.Source = CostsOfStrategy
	}
	p.BelowDefault = p.Below(p.Class.Costs())
	return p
}

// Sentences say that costs were raised, or are below the default.
func (p PaidCosts) Sentences() (all []string) {
	if c := p.Carry; c != (instrument.Carry{}) {
		all = append(all, fmt.Sprintf("Holding %s costs %.3g%% a year long and %.3g%% short, as %s says.", p.Symbol, 100*c.Long, 100*c.Short,
			instrument.FileName))
	}
	if p.Overruled != nil {
		all = append(all, p.raised(*p.Overruled, "was traded"))
	}
	if p.BelowDefault {
		all = append(all, p.below())
	}
	if p.Measured > p.Spread && p.Measured/2 > p.PerSide() {
		all = append(all, p.measuredText())
	}
	return all
}

// mostSentences is how many sentences about costs a summary has.
const mostSentences = 4

func (r *research) charge(result *Result, run *jobs.BacktestResult) (err error) {
	if run == nil {
		return nil
	}
	if result.Costs, err = r.paid(run); err != nil {
		return err
	}
	var said []string
	for _, p := range result.Costs {
		result.Figures.CostBelowDefault = result.Figures.CostBelowDefault || p.BelowDefault
		if p.Source == CostsByDefault {
			result.Warnings = append(result.Warnings, p.byDefault("paid"))
		}
		said = append(said, p.Sentences()...)
	}
	if more := len(said) - mostSentences; more > 0 {
		const form = "%d more sentences about costs are left out: the result lists the costs of every symbol."
		said = append(said[:mostSentences], fmt.Sprintf(form, more))
	}
	result.Summary = strings.Join(append([]string{result.Summary}, said...), " ")
	return nil
}
