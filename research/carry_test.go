package research

import (
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
)

// What holding a symbol costs goes from the file into each backtest, and into words.
func TestCarry_OfTheFileIsCharged(t *testing.T) {
	from := costSources{file: instrument.File{
		"AAPL": {Symbol: "AAPL", Borrow: 0.005}, "ES": {Symbol: "ES", Swap: instrument.Carry{Long: 0.02}},
	}}
	aapl, es, other := from.of("AAPL"), from.of("ES"), from.of("EURUSD")
	var one, two jobs.BacktestSpec
	one.Trade([]string{"AAPL"})
	one.ChargeCarry("AAPL", aapl.Long, aapl.Short)
	two.Trade([]string{"ES", "EURUSD"})
	two.Charge("ES", 0.1, 0.2, 0.3)
	for _, c := range []SymbolCosts{es, other} {
		two.ChargeCarry(c.Symbol, c.Long, c.Short)
	}
	if o := one.OverridesFor("AAPL"); o.CarryLong != 0 || o.CarryShort != 0.005 || o.Commission != nil {
		t.Errorf("AAPL: %+v", o)
	}
	if o := two.OverridesFor("ES"); o.CarryLong != 0.02 || o.CarryShort != 0 || o.Commission == nil || *o.Commission != 0.1 {
		t.Errorf("ES: %+v", o)
	}
	if o := two.OverridesFor("EURUSD"); o.CarryLong != 0 || o.Commission != nil || len(two.SymbolOverrides) != 1 {
		t.Errorf("EURUSD: %+v", o)
	}
	if said := (SymbolCosts{Carry: instrument.Carry{Long: 0.021, Short: -0.008}}).Charged(); !strings.HasSuffix(said,
		"; holding long costs 2.1 % a year, short pays 0.8 % (instruments.yaml)") {
		t.Errorf("a dry run says %q", said)
	}
	if said := other.Charged(); !strings.HasSuffix(said, "; holding costs nothing") {
		t.Errorf("a dry run says %q of a symbol without", said)
	}
	said := strings.Join(PaidCosts{SymbolCosts: aapl}.Sentences(), " ")
	if !strings.Contains(said, "Holding AAPL costs 0% a year long and 0.5% short, as instruments.yaml says.") {
		t.Errorf("said %q", said)
	}
	if said := (PaidCosts{SymbolCosts: other}).Sentences(); len(said) > 1 {
		t.Errorf("of a symbol without: %q", said)
	}
}
