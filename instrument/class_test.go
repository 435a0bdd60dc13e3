package instrument

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func TestClassOf_ReadsTheName(t *testing.T) {
	for class, names := range map[Class]string{
		MajorFX: "EURUSD USDJPY gbpusd USDCHF AUD-USD NZD_USD USDCAD EURUSD.r eurusd.PRO USDEUR",
		MinorFX: "EURGBP GBPJPY AUDNZD CHFJPY USDSEK EURNOK USDSGD USD_CNH EURGBP.m SEKNOK",
		Metal:   "XAUUSD XAGUSD XAU XAUEUR GOLD SILVER XPTUSD gold.r PALLADIUM XAU_USD COPPER",
		Index:   "SPX500 US500 SPX500_USD NAS100 US30 DE40 GER40 DE30_EUR UK100_GBP JP225 DAX FTSE100 AUS200",
		Stock:   "AAPL TSLA F BRK.B SAP.DE 7203.T AAPL.US VOD.L GOOGL",
		Crypto:  "BTCUSD BTC-USD ETHUSDT SOLUSD BTC ETHBTC XBTEUR DOGEUSDT NEWCOINUSDT BTCUSDTPERP SOL-PERP PEPEUSDC 1000PEPEUSDT",
	} {
		for name := range strings.FieldsSeq(names) {
			if got, known := ClassOf(name); got != class || !known {
				t.Errorf("%s is %s (known %t), want %s", name, got, known, class)
			}
		}
	}
}

func TestClassOf_TakesADearestClassForWhatItDoesNotKnow(t *testing.T) {
	for _, name := range []string{"", "USDTRY", "EURZAR", "USDUSD", "SYNTHETIC", "WHEAT1", "XAUXAU", "ES1", "EURUSDm", "BRK-B", "A.B.C.D"} {
		c, known := ClassOf(name)
		if known {
			t.Errorf("%q is known as %s", name, c)
		}
		for _, other := range Classes() {
			if c.Costs().Below(other.Costs()) {
				t.Errorf("%q has the default of %s, which is below that of %s", name, c, other)
			}
		}
	}
}

func TestClasses_HaveCostsThatABacktestAccepts(t *testing.T) {
	dear := map[Class]float64{MajorFX: 1.5, MinorFX: 3, Metal: 4, Index: 2.5, Stock: 10, Crypto: 10}
	if len(Classes()) != len(dear) {
		t.Fatalf("%d classes, want %d", len(Classes()), len(dear))
	}
	for _, c := range Classes() {
		if err := c.Costs().Validate(); err != nil || !c.Valid() || c.String() == string(c) && c != Crypto {
			t.Errorf("%s: %v", c, err)
		}
		if got := Points(c.Costs().PerSide()); got != Points(dear[c]/BasisPoints) {
			t.Errorf("%s costs %s basis points a side, want %v", c, got, dear[c])
		}
	}
	if Class("bonds").Valid() || Class("bonds").Costs() != unknownClass.Costs() {
		t.Error("a class that does not exist is valid, or has costs of its own")
	}
}

// The reader of the docs must see the numbers that are used.
func TestDocs_ListTheDefaultOfEveryClass(t *testing.T) {
	text, err := os.ReadFile("../docs/research.md")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(line, "|")
		if len(cells) > 6 {
			for i := range cells {
				cells[i] = strings.Trim(cells[i], " `")
			}
			rows = append(rows, strings.Join(cells[1:6], "|"))
		}
	}
	for _, c := range Classes() {
		x := c.Costs()
		want := strings.Join([]string{string(c), Points(x.Commission), Points(x.Slippage), Points(x.Spread), Points(x.PerSide())}, "|")
		if !slices.Contains(rows, want) {
			t.Errorf("docs/research.md has no row that begins with %s", want)
		}
	}
}
