package market

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/internal/text"
)

// A market is recognised by its returns, since names, lengths, quotations and
// time zones differ between copies of the same prices. The limits below were
// tried on hourly, 4-hourly and daily prices of eight currency pairs and gold.
const (
	// sameCorrelation over sameReturns makes two series one market. EURUSD made
	// of two pairs reaches 0.985 with EURUSD made of two others, and a copy with
	// 0.2 basis points of noise reaches 0.999. EURUSD and USDCHF are the most
	// alike of different pairs. They reach 0.97 over 1,500 bars and stay below
	// 0.97 over any 2,000, so that fewer returns decide nothing.
	sameCorrelation = 0.98
	sameReturns     = 2000

	// copyCorrelation over copyReturns makes them one as well. Only copies and
	// resampled copies are so alike, however short they are: 30 returns of two
	// markets that correlate 0.999 do not reach 0.9999 by chance.
	copyCorrelation = 0.9999
	copyReturns     = 30

	// askCorrelation over askReturns and fewer than sameReturns leaves the
	// decision to the user. Fewer than 100 returns say nothing.
	askCorrelation = 0.95
	askReturns     = 100

	// A part of sameReturns returns in a row makes two series one at
	// copyCorrelation, however foreign the rest is. From sameCorrelation on it
	// leaves the decision to the user.
	partCorrelation = sameCorrelation
)

// Identity says whether two series are one market. A later value is stronger.
type Identity int

// The identities.
const (
	Different Identity = iota
	Ask                // alike over too few returns or only in a part: the user decides
	Same
)

// String is the identity in one word.
func (v Identity) String() string { return [...]string{"different", "ask", "same"}[v] }

// Identity judges a likeness.
func (l Likeness) Identity() Identity {
	if overall := l.overall(); overall != Different {
		return overall
	}
	switch r := math.Abs(l.PartCorrelation); {
	case l.Part >= sameReturns && r >= copyCorrelation:
		return Same
	case l.Part >= sameReturns && r >= partCorrelation:
		return Ask
	}
	return Different
}

// overall judges all shared returns together.
func (l Likeness) overall() Identity {
	r := math.Abs(l.Correlation)
	switch {
	case l.Shared >= sameReturns && r >= sameCorrelation, l.Shared >= copyReturns && r >= copyCorrelation:
		return Same
	case l.Shared >= askReturns && l.Shared < sameReturns && r >= askCorrelation:
		return Ask
	}
	return Different
}

// betterThan orders likenesses: by identity, then those that could have shown
// the same market before those that could not, then by correlation.
func (l Likeness) betterThan(other Likeness) bool {
	if x, y := l.Identity(), other.Identity(); x != y {
		return x > y
	}
	if x, y := l.Shared >= sameReturns, other.Shared >= sameReturns; x != y {
		return x
	}
	return math.Abs(l.Correlation) > math.Abs(other.Correlation)
}

// String says in one part of a sentence how alike two series are.
func (l Likeness) String() string {
	if l.Shared == 0 {
		return "they share no returns"
	}
	var b strings.Builder
	fmt.Fprintf(&b, "returns correlate %s over %s shared %s returns", fourDecimals(l.Correlation), grouped(l.Shared), l.Timeframe)
	if l.Identity() == Different {
		return b.String() // at which offset it is least unlike means nothing
	}
	if l.overall() == Different {
		fmt.Fprintf(&b, " and %s over %s of them in a row", fourDecimals(l.PartCorrelation), grouped(l.Part))
	}
	if l.Offset != 0 {
		fmt.Fprintf(&b, " with times shifted by %s", signedDuration(l.Offset))
	}
	if l.Clocks != "" {
		fmt.Fprintf(&b, " (%s)", l.Clocks)
	}
	return b.String()
}

// fourDecimals writes a correlation with four decimals, rounded towards 0: 0.97999 stays below 0.98.
func fourDecimals(r float64) string { return strconv.FormatFloat(math.Trunc(r*1e4)/1e4, 'f', 4, 64) }

func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// signedDuration writes an offset as +2h, -5h30m or +1m.
func signedDuration(d time.Duration) string {
	sign := "+"
	if d < 0 {
		sign, d = "-", -d
	}
	s := d.String()
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
	}
	return sign + s
}

// Known is a series whose market is known.
type Known struct {
	Market string                  // its id
	Series string                  // its name in sentences, such as "EURUSD 1h"
	Prices func() (*Prices, error) // reads them when they are needed
}

// Match is a market that a series resembles, by the series of it that is most alike.
type Match struct {
	Market   string
	Series   string
	Likeness Likeness
}

// String is the match in one sentence without its full stop.
func (m Match) String() string {
	l := m.Likeness
	switch l.Identity() {
	case Same:
		return fmt.Sprintf("same market as %s: %v", m.Series, l)
	case Ask:
		if l.overall() == Different {
			return fmt.Sprintf("possibly the same market as %s: %v, which may be a copy in part", m.Series, l)
		}
		return fmt.Sprintf("possibly the same market as %s: %v, too few to decide (%s are needed)", m.Series, l, grouped(sameReturns))
	}
	return fmt.Sprintf("not the same market as %s: %v", m.Series, l)
}

// Assignment says to which market a series belongs.
//
//	Same has one market     it belongs to that one
//	Same has several        it shows that they are one: they are to be merged
//	only Ask has any        the user decides
//	neither has any         it begins a new market
type Assignment struct {
	Same []Match // the most alike first
	Ask  []Match // the most alike first

	// Compared tells whether a known series shares enough returns with it to
	// show a copy. Without one, nothing is known of the market.
	Compared bool
}

// Decide compares a series with all that are known. The error is one of reading the prices of a known series.
func Decide(p *Prices, known []Known) (Assignment, error) {
	best := map[string]Match{}
	var d Assignment
	var order []string
	for _, k := range known {
		was, seen := best[k.Market]
		if seen && was.Likeness.Identity() == Same {
			continue
		}
		prices, err := k.Prices()
		if err != nil {
			return Assignment{}, err
		}
		m := Match{k.Market, k.Series, Compare(prices, p)}
		d.Compared = d.Compared || m.Likeness.Shared >= copyReturns
		if !seen {
			order = append(order, k.Market)
		}
		if !seen || m.Likeness.betterThan(was.Likeness) {
			best[k.Market] = m
		}
	}
	for _, id := range order {
		switch m := best[id]; m.Likeness.Identity() {
		case Same:
			d.Same = append(d.Same, m)
		case Ask:
			d.Ask = append(d.Ask, m)
		case Different:
		}
	}
	for _, list := range [][]Match{d.Same, d.Ask} {
		slices.SortStableFunc(list, func(a, b Match) int {
			return cmp.Compare(math.Abs(b.Likeness.Correlation), math.Abs(a.Likeness.Correlation))
		})
	}
	return d, nil
}

// String is the decision in one sentence without its full stop.
func (d Assignment) String() string {
	switch {
	case len(d.Same) > 1:
		names := text.Map(d.Same, func(m Match) string { return m.Series })
		return fmt.Sprintf("%v; it shows that %s are one market", d.Same[0], text.List(names, "and"))
	case len(d.Same) == 1:
		return d.Same[0].String()
	case len(d.Ask) > 0:
		return d.Ask[0].String()
	case !d.Compared:
		return "new market: no known series shares enough returns with it"
	}
	return "new market: no known series has returns like these"
}
