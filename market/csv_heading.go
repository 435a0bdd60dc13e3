package market

import "strings"

type named struct {
	role role
	rank int
}

// headings names the columns as files do, in lower case and without what is
// neither an English letter nor a digit: "Eröffnung" is erffnung in any encoding.
// Where a file has several headings of one role, the one with the lowest rank is
// taken: MetaTrader writes ticks as <TICKVOL> and then a <VOL> that is mostly 0.
var headings = map[string]named{
	"timestamp": {timeRole, 1}, "datetime": {timeRole, 2}, "date": {timeRole, 3}, "gmttime": {timeRole, 4},
	"opentime": {timeRole, 5}, "time": {timeRole, 6}, "unix": {timeRole, 7}, "windowstart": {timeRole, 8}, "t": {timeRole, 9},
	"indexlevel0": {timeRole, 8}, // what pandas calls an index without a name in Parquet
	"localtime":   {timeRole, 4}, "timeutc": {timeRole, 4}, "timegmt": {timeRole, 4}, "timeeet": {timeRole, 4},
	"open": {openRole, 1}, "high": {highRole, 1}, "low": {lowRole, 1}, "close": {closeRole, 1},
	"o": {openRole, 2}, "h": {highRole, 2}, "l": {lowRole, 2}, "c": {closeRole, 2},
	"last": {closeRole, rankOfPrice}, "price": {closeRole, 6}, "rate": {closeRole, 6},
	"volume": {volumeRole, 1}, "tickvolume": {volumeRole, 2}, "tickvol": {volumeRole, 3}, "vol": {volumeRole, 4}, "v": {volumeRole, 5},
	"qty": {volumeRole, rankOfSize}, "quantity": {volumeRole, rankOfSize}, "size": {volumeRole, rankOfSize},
	"amount": {volumeRole, rankOfSize},
	"spread": {spreadRole, 1},
	"bid":    {bidRole, 1}, "bidprice": {bidRole, 2}, "ask": {askRole, 1}, "askprice": {askRole, 2}, "offer": {askRole, 3},
	"bidopen": {openRole, rankOfBid}, "bidhigh": {highRole, rankOfBid}, "bidlow": {lowRole, rankOfBid}, "bidclose": {closeRole, rankOfBid},
	"askclose": {askRole, 4}, "tickqty": {volumeRole, 6},
	"transacttime": {timeRole, 6}, "siptimestamp": {timeRole, 8}, "timestampms": {timeRole, 8},
	"adjclose": {adjustedRole, 1}, "adjustedclose": {adjustedRole, 2},
	"ticker": {symbolRole, 1}, "symbol": {symbolRole, 2}, "tic": {symbolRole, 3},

	// German
	"datum": {timeRole, 3}, "zeit": {timeRole, 6}, "uhrzeit": {timeRole, 6},
	"erffnung": {openRole, 3}, "eroeffnung": {openRole, 3}, "eroffnung": {openRole, 3}, "erffn": {openRole, 4},
	"erster": {openRole, 5},
	"hoch":   {highRole, 3}, "hchst": {highRole, 3}, "tageshoch": {highRole, 4}, "tief": {lowRole, 3}, "tagestief": {lowRole, 4},
	"schluss": {closeRole, 3}, "schlusskurs": {closeRole, 3}, "zuletzt": {closeRole, 5}, "volumen": {volumeRole, 2},
	"stcke": {volumeRole, 1}, "stuecke": {volumeRole, 1}, // beside them the volume is money

	// French
	"heure": {timeRole, 6}, "ouverture": {openRole, 3}, "ouv": {openRole, 4}, "haut": {highRole, 3}, "plushaut": {highRole, 3},
	"bas": {lowRole, 3}, "plusbas": {lowRole, 3}, "clture": {closeRole, 3}, "cloture": {closeRole, 3}, "dernier": {closeRole, 5},

	// Spanish
	"fecha": {timeRole, 3}, "hora": {timeRole, 6}, "apertura": {openRole, 3}, "mximo": {highRole, 3}, "maximo": {highRole, 3},
	"mnimo": {lowRole, 3}, "minimo": {lowRole, 3}, "cierre": {closeRole, 3}, "ltimo": {closeRole, 5}, "ultimo": {closeRole, 5},

	// Polish, as Stooq writes
	"data": {timeRole, 3}, "otwarcie": {openRole, 3}, "najwyzszy": {highRole, 3}, "najnizszy": {lowRole, 3},
	"zamkniecie": {closeRole, 3}, "wolumen": {volumeRole, 1},
}

// dayNames and clockNames are the headings of a day and of a time of day that stand in two columns.
var (
	dayNames   = map[string]bool{"date": true, "datum": true, "fecha": true, "data": true}
	clockNames = map[string]bool{"time": true, "zeit": true, "uhrzeit": true, "heure": true, "hora": true}
)

const (
	rankOfBid   = 4 // of the prices of a bar of bids
	rankOfPrice = 5 // from here on a close may be the price of one trade
	rankOfSize  = 9 // of a volume that only a trade has
)

// rankOfCoin is that of a volume in one coin of two. The first of them is taken.
const rankOfCoin = 7

// roleOf is what a column of this name holds. Some exchanges name the coin behind
// the word: "Volume BTC".
func roleOf(name string) named {
	n := heading(name)
	if h, ok := headings[n]; ok {
		return h
	}
	if rest, ok := strings.CutPrefix(name, "Volume "); ok && len(rest) <= 10 {
		return named{volumeRole, rankOfCoin}
	}
	return named{}
}

// heading reduces a column's name to the form in which headings has it.
func heading(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + 'a' - 'A'
		}
		return -1
	}, name)
}
