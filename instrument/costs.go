package instrument

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Costs is what trading costs, as fractions of the traded value.
type Costs struct {
	Commission float64 `json:"commission"` // each side
	Slippage   float64 `json:"slippage"`   // each side
	Spread     float64 `json:"spread"`     // bid to ask; each side pays half
}

// PerSide is the cost of one side of a trade.
func (c Costs) PerSide() float64 { return c.Commission + c.Slippage + float64(c.Spread/2) }

// Below says whether a side costs less than with other costs. A difference
// that only rounding explains is not counted: 1/1/2 and 3/0/0 cost the same.
func (c Costs) Below(other Costs) bool {
	const rounding = 1e-9
	return c.PerSide() < float64(other.PerSide()*(1-rounding))
}

// AtLeast returns the costs to trade at where a side costs at least floor: c
// where it is not below the floor, otherwise all three rates of the floor. The
// result is never below the floor.
func (c Costs) AtLeast(floor Costs) Costs {
	if c.Below(floor) {
		return floor
	}
	return c
}

// MaxRate is the highest rate that a strategy and a backtest accept.
const MaxRate = 0.2

// Validate names the rates that a backtest does not accept.
func (c Costs) Validate() error {
	var errs []error
	for _, x := range []struct {
		name string
		rate float64
	}{{"commission", c.Commission}, {"slippage", c.Slippage}, {"spread", c.Spread}} {
		if !(x.rate >= 0 && x.rate <= MaxRate) { // so that NaN is refused too
			errs = append(errs, fmt.Errorf("%s is %s basis points; it must be 0 to %s", x.name, Points(x.rate), Points(MaxRate)))
		}
	}
	return errors.Join(errs...)
}

// String writes the costs as ParseTable reads them, such as "0.5/0.5/1".
func (c Costs) String() string {
	return Points(c.Commission) + "/" + Points(c.Slippage) + "/" + Points(c.Spread)
}

// BasisPoints is how many basis points there are in one.
const BasisPoints = 10_000

// Points writes a fraction in basis points, in at most six digits.
func Points(rate float64) string { return strconv.FormatFloat(rate*BasisPoints, 'g', 6, 64) }

func fromPoints(text string) (float64, bool) {
	x, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil || math.IsNaN(x) || strings.Contains(text, "_") {
		return 0, false
	}
	return x / BasisPoints, true
}

// Table is costs by symbol in capitals. Those of EverySymbol hold for each symbol that is not named.
type Table map[string]Costs

// EverySymbol is the name in a Table that stands for all symbols not named.
const EverySymbol = "*"

// Find returns the costs of a symbol; false where the table has none.
func (t Table) Find(symbol string) (Costs, bool) {
	for _, name := range []string{strings.ToUpper(symbol), EverySymbol} {
		if c, ok := t[name]; ok {
			return c, true
		}
	}
	return Costs{}, false
}

const maxTable = 64 << 10

const tableForm = "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD in basis points, such as EURUSD=0.5/0.5/1, " +
	"separated by commas; * is every other symbol"

// ParseTable reads a table such as "EURUSD=0.5/0.5/1,*=5/5/0", in basis points:
// commission and slippage of one side, and the spread from bid to ask.
func ParseTable(text string) (Table, error) {
	if len(text) > maxTable {
		return nil, fmt.Errorf("has %d bytes; at most %d are allowed: use instruments.yaml", len(text), maxTable)
	}
	t := Table{}
	for entry := range strings.SplitSeq(text, ",") {
		name, rates, ok := strings.Cut(strings.TrimSpace(entry), "=")
		name = strings.ToUpper(strings.TrimSpace(name))
		parts := strings.Split(rates, "/")
		if !ok || name == "" || len(parts) != 3 {
			return nil, fmt.Errorf("%s, not %.60q", tableForm, entry)
		}
		if _, twice := t[name]; twice {
			return nil, fmt.Errorf("names %.60s twice", name)
		}
		var rate [3]float64
		for i, part := range parts {
			if rate[i], ok = fromPoints(part); !ok {
				return nil, fmt.Errorf("%s, not %.60q", tableForm, entry)
			}
		}
		c := Costs{Commission: rate[0], Slippage: rate[1], Spread: rate[2]}
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("%.60s: %w", name, err)
		}
		t[name] = c
	}
	return t, nil
}
