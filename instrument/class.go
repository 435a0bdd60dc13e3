package instrument

import (
	"slices"
	"strings"
)

// Class is an asset class. It decides the default costs of a symbol.
type Class string

// The asset classes.
const (
	MajorFX Class = "major_fx"
	MinorFX Class = "minor_fx"
	Metal   Class = "metal"
	Index   Class = "index"
	Stock   Class = "stock"
	Crypto  Class = "crypto"
)

// classes is the table of defaults. docs/research.md gives the reason of each; a test holds the two together.
var classes = []struct {
	class Class
	title string
	costs Costs
}{
	{MajorFX, "major FX", Costs{Commission: 0.00005, Slippage: 0.00005, Spread: 0.0001}},
	{MinorFX, "minor FX", Costs{Commission: 0.00005, Slippage: 0.0001, Spread: 0.0003}},
	{Metal, "metals", Costs{Commission: 0.00005, Slippage: 0.00015, Spread: 0.0004}},
	{Index, "indices", Costs{Commission: 0.00005, Slippage: 0.0001, Spread: 0.0002}},
	{Stock, "stocks", Costs{Commission: 0.0004, Slippage: 0.0003, Spread: 0.0006}},
	{Crypto, "crypto", Costs{Commission: 0.0006, Slippage: 0.00025, Spread: 0.0003}},
}

// unknownClass is the class of a symbol that no rule recognises: no other class has higher default costs.
const unknownClass = Stock

// Classes lists the asset classes.
func Classes() []Class {
	var all []Class
	for _, x := range classes {
		all = append(all, x.class)
	}
	return all
}

// Valid says whether c is an asset class.
func (c Class) Valid() bool { return slices.Contains(Classes(), c) }

// String is the class in words.
func (c Class) String() string {
	for _, x := range classes {
		if x.class == c {
			return x.title
		}
	}
	return string(c)
}

// Costs are the default costs of the class.
func (c Class) Costs() Costs {
	for _, x := range classes {
		if x.class == c {
			return x.costs
		}
	}
	return unknownClass.Costs()
}

// Currencies of the FX rules. A major pair is one of the first list and the US
// dollar. A minor pair is any other two of both lists.
var (
	majorCurrencies = []string{"EUR", "GBP", "JPY", "CHF", "AUD", "NZD", "CAD"}
	minorCurrencies = []string{"SEK", "NOK", "DKK", "SGD", "HKD", "CNH"}
)

// metalNames begin a metal's symbol; nothing or a currency follows.
var metalNames = []string{"XAU", "XAG", "XPT", "XPD", "XCU", "GOLD", "SILVER", "PLATINUM", "PALLADIUM", "COPPER"}

// coins begin a symbol of a cryptocurrency; a quote currency follows.
var coins = []string{
	"BTC", "XBT", "ETH", "SOL", "XRP", "BNB", "ADA", "DOGE", "TRX", "LTC", "BCH", "ETC", "DOT", "LINK", "AVAX", "UNI",
	"ATOM", "XLM", "XMR", "NEAR", "APT", "ARB", "OP", "SUI", "TON", "SHIB", "PEPE", "MATIC", "POL", "FIL", "AAVE", "ALGO",
	"DASH", "ZEC", "EOS", "HBAR", "ICP", "INJ",
}

// loneCoins are cryptocurrencies whose symbol stands without a quote currency.
var loneCoins = []string{"BTC", "XBT", "ETH", "BITCOIN", "ETHEREUM"}

// stablecoins quote cryptocurrencies and nothing else.
var stablecoins = []string{"USDT", "USDC", "BUSD", "FDUSD", "TUSD"}

// indexNames are stock indices and the names that brokers trade them under; nothing or a currency follows.
var indexNames = []string{
	"SPX", "SPX500", "SP500", "US500", "USA500", "GSPC", "NAS100", "NDX", "NDX100", "US100", "USA100", "USTEC", "USTECH100", "IXIC",
	"US30", "USA30", "DJI", "DJ30", "DJIA", "WS30", "US2000", "RUT", "RUT2000", "GER30", "GER40", "DE30", "DE40", "DAX", "DAX30", "DAX40",
	"UK100", "FTSE", "FTSE100", "FRA40", "FR40", "F40", "CAC", "CAC40", "EU50", "EUSTX50", "ESTX50", "STOXX50", "ESP35", "ES35", "IBEX35",
	"ITA40", "IT40", "NETH25", "NL25", "AEX", "SWI20", "CH20", "SMI", "JP225", "JPN225", "NI225", "N225", "NIKKEI", "NIKKEI225",
	"HK50", "HK33", "HSI", "AUS200", "AU200", "ASX200", "CN50", "CHN50", "CHINA50",
}

// exchanges end the symbol of a stock after a dot.
var exchanges = []string{
	"US", "L", "LN", "DE", "F", "PA", "AS", "BR", "MI", "MC", "SW", "ST", "CO", "OL", "HE", "VI", "TO", "V", "AX", "T", "HK", "SI",
}

// ClassOf is the class of a symbol by its name. Where no rule recognises the
// name, known is false and the class is one with the highest default costs.
//
// A suffix after a dot is not part of the name: brokers mark account types with
// it, as in EURUSD.r, and data vendors exchanges, as in AAPL.US.
func ClassOf(symbol string) (c Class, known bool) {
	name, suffix, dotted := strings.Cut(strings.ToUpper(symbol), ".")
	plain := strings.NewReplacer("-", "", "_", "").Replace(name)
	switch {
	case pairOf(plain, "USD", majorCurrencies):
		return MajorFX, true
	case isPair(plain):
		return MinorFX, true
	case quoted(plain, metalNames, currencies()):
		return Metal, true
	case quoted(plain, indexNames, currencies()):
		return Index, true
	case isCoin(plain):
		return Crypto, true
	case dotted && slices.Contains(exchanges, suffix):
		return Stock, true
	case isTicker(name) && (!dotted || len(suffix) == 1): // BRK.B is a class of shares
		return Stock, true
	}
	return unknownClass, false
}

func currencies() []string { return slices.Concat([]string{"USD"}, majorCurrencies, minorCurrencies) }

// pairOf says whether a name is a currency and one of others, in either order.
func pairOf(name, currency string, others []string) bool {
	other, ok := strings.CutPrefix(name, currency)
	if !ok {
		other, ok = strings.CutSuffix(name, currency)
	}
	return ok && slices.Contains(others, other)
}

func isPair(name string) bool {
	return len(name) == 6 && name[:3] != name[3:] && slices.Contains(currencies(), name[:3]) && slices.Contains(currencies(), name[3:])
}

// quoted says whether a name is one of names, alone or followed by one of ends.
func quoted(name string, names, ends []string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		rest, ok := strings.CutPrefix(name, n)
		return ok && (rest == "" || slices.Contains(ends, rest))
	})
}

// isCoin recognises cryptocurrencies: a coin and its quote currency, anything
// that a stablecoin quotes, and either followed by PERP.
func isCoin(name string) bool {
	pair, perpetual := strings.CutSuffix(name, "PERP")
	if slices.Contains(loneCoins, pair) {
		return true
	}
	for _, s := range stablecoins {
		if base, ok := strings.CutSuffix(pair, s); ok && base != "" {
			return true
		}
	}
	return slices.ContainsFunc(coins, func(coin string) bool {
		rest, ok := strings.CutPrefix(pair, coin)
		return ok && (slices.Contains(currencies(), rest) || slices.Contains(loneCoins, rest) || perpetual && rest == "")
	})
}

// isTicker says whether a name looks like a stock of a US exchange: one to five letters.
func isTicker(name string) bool {
	for _, c := range name {
		if c < 'A' || c > 'Z' {
			return false
		}
	}
	return len(name) >= 1 && len(name) <= 5
}
