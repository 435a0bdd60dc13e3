package instrument

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseTable_ReadsBasisPoints(t *testing.T) {
	table, err := ParseTable(" eurusd = 0.5/ 0.25 /1, TSLA=1/2/4,*=30/0/0")
	if err != nil {
		t.Fatal(err)
	}
	for symbol, want := range map[string]Costs{
		"EURUSD": {0.00005, 0.000025, 0.0001},
		"tsla":   {0.0001, 0.0002, 0.0004},
		"GBPUSD": {0.003, 0, 0},
	} {
		if got, ok := table.Find(symbol); !ok || got != want {
			t.Errorf("%s costs %+v (found %t), want %+v", symbol, got, ok, want)
		}
	}
	delete(table, EverySymbol)
	if c, ok := table.Find("GBPUSD"); ok {
		t.Errorf("GBPUSD is not named and costs %v", c)
	}
}

func TestParseTable_SaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD",
		"EURUSD=1/1":                  "must be SYMBOL=COMMISSION/SLIPPAGE/SPREAD in basis points, such as EURUSD=0.5/0.5/1",
		"EURUSD=1/1/1/1":              "must be SYMBOL",
		"=1/1/1":                      "must be SYMBOL",
		"EURUSD=1/1/1,":               `not ""`,
		"EURUSD":                      `not "EURUSD"`,
		"EURUSD=1/x/1":                `not "EURUSD=1/x/1"`,
		"*=NaN/0/0":                   "must be SYMBOL",
		"*=-1/0/0":                    "*: commission is -1 basis points; it must be 0 to 2000",
		"*=0/3000/0":                  "*: slippage is 3000 basis points; it must be 0 to 2000",
		"*=0/0/+Inf":                  "*: spread is +Inf basis points",
		"EURUSD=1/1/1,eurusd=2/2/2":   "names EURUSD twice",
		strings.Repeat("x", maxTable): "",
		strings.Repeat("x", 1<<20):    "instruments.yaml",
	} {
		table, err := ParseTable(text)
		if err == nil || !strings.Contains(err.Error(), want) || table != nil {
			t.Errorf("%.40q: %v and %v, want %q", text, table, err, want)
		}
		if err != nil && len(err.Error()) > 300 {
			t.Errorf("%.40q: the error has %d bytes", text, len(err.Error()))
		}
	}
}

func TestTable_ReadsWhatCostsWrite(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Custom(func(rt *rapid.T) float64 {
			return float64(rapid.IntRange(0, 200_000).Draw(rt, "hundredths")) / 100 / BasisPoints
		})
		c := Costs{rate.Draw(rt, "commission"), rate.Draw(rt, "slippage"), rate.Draw(rt, "spread")}
		table, err := ParseTable("X=" + c.String())
		if err != nil {
			rt.Fatalf("%s: %v", c, err)
		}
		if got := table["X"]; got.String() != c.String() || math.Abs(got.PerSide()-c.PerSide()) > 1e-9 {
			rt.Fatalf("%s is read as %s", c, got)
		}
	})
}

func TestCosts_AtLeastIsNeverBelowTheFloor(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rate := rapid.Float64Range(0, MaxRate)
		any := rapid.Custom(func(rt *rapid.T) Costs { return Costs{rate.Draw(rt, "c"), rate.Draw(rt, "s"), rate.Draw(rt, "sp")} })
		own, floor := any.Draw(rt, "own"), any.Draw(rt, "floor")
		paid := own.AtLeast(floor)
		if paid.Below(floor) || paid.PerSide() < own.PerSide() || paid != own && paid != floor {
			rt.Fatalf("%v with a floor of %v pays %v", own, floor, paid)
		}
		if again := paid.AtLeast(floor); again != paid {
			rt.Fatalf("%v becomes %v at the same floor", paid, again)
		}
	})
}

func TestCosts_BelowIgnoresRounding(t *testing.T) {
	a, b := Costs{Commission: 0.0001, Slippage: 0.0001, Spread: 0.0002}, Costs{Commission: 0.0003}
	if a.PerSide() == b.PerSide() {
		t.Fatal("the sums do not differ, so nothing is tested")
	}
	if a.Below(b) || b.Below(a) {
		t.Errorf("%v and %v cost %v and %v a side, which is the same", a, b, a.PerSide(), b.PerSide())
	}
	if cheap := (Costs{Commission: 1e-8}); !cheap.Below(b) || b.Below(cheap) || (Costs{}).Below(Costs{}) {
		t.Errorf("%v is not below %v", cheap, b)
	}
}
