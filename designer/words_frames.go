package designer

import (
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/market"
)

// units are the words for lengths of bars, by the letter of the timeframe.
var units = map[string]string{
	"m": "m", "min": "m", "mins": "m", "minute": "m", "minutes": "m", "h": "h", "hr": "h", "hour": "h", "hours": "h",
	"d": "d", "day": "d", "days": "d", "w": "w", "week": "w", "weeks": "w", "month": "M", "months": "M",
	"hourly": "1h", "daily": "1d", "weekly": "1w", "monthly": "1M",
}

var (
	// series are the words that only follow a timeframe.
	series = []string{"bar", "bars", "candle", "candles", "chart", "charts", "timeframe", "timeframes", "filter"}
	// lengths are the words that follow a length of time, which is no timeframe.
	lengths = []string{"ahead", "ago", "later", "horizon", "horizons", "hold", "holding", "lookback"}
	// links are between the items of a list.
	links = []string{"and", "or", "plus"}
)

type mention struct {
	timeframe market.Timeframe
	from, to  int  // its words, the last excluded
	certain   bool // nothing else can be meant; then it may be one that there is not
}

// frameAt is the timeframe at i: 4h, h4, 4 hours, 4-hour, hourly. "Hold for 4 hours",
// "4h ahead", "under 4h" and "0.5% daily" name none. One that is written as 4h, or
// followed by bars, is nothing else.
func (r *briefReader) frameAt(i int) (m mention, ok bool) {
	w := r.words[i]
	if i > 0 && slices.Contains(spans, r.words[i-1]) {
		return
	}
	if side, _ := r.bound(i); side != 0 { // "at most 4 hours" names no bars
		return
	}
	count := strings.TrimRight(w, "abcdefghijklmnopqrstuvwxyz")
	unit, after := units[w[len(count):]], i+1
	beyond := count != "" && len(count) < len(w)
	switch letter := strings.TrimRight(w, "0123456789"); {
	case len(letter) == 1 && len(letter) < len(w):
		count, unit, beyond = w[1:], units[letter], true
	case count == "" && len(unit) == 2:
		count = "" // hourly is a unit with its count
	case count == "":
		return
	case len(count) == len(w) && len(units[r.word(after)]) == 1: // not "2016 daily"
		unit = units[r.words[after]]
		after++
	}
	if unit == "" || after < len(r.words) && slices.Contains(lengths, r.words[after]) {
		return
	}
	tf, err := market.ParseTimeframe(count + unit)
	named := after < len(r.words) && slices.Contains(series, r.words[after])
	before := r.word(i - 1)
	rate := strings.HasSuffix(before, "%") || slices.Contains([]string{"percent", "pct", "cent"}, before) // "0.5% daily"
	if !named && (err != nil || len(unit) == 2 && rate) {
		return
	}
	if err != nil {
		tf = market.Timeframe(count + unit)
	}
	if named {
		after++
	}
	return mention{tf, i, after, named || beyond}, true
}

// named are the timeframes that a text names: those beyond doubt, and those that are
// used where there are bars of them. In a list, such as "hourly and daily bars", one
// that is certain makes its neighbours certain. Of what is in doubt the first counts.
func (r *briefReader) named() (certain, possible []market.Timeframe) {
	list := slices.Clone(r.frames)
	joined := r.joined()
	for range list { // a list may be long
		for k := 1; k < len(list); k++ {
			if sure := list[k-1].certain || list[k].certain; joined[k] {
				list[k-1].certain, list[k].certain = sure, sure
			}
		}
	}
	for k, m := range list {
		switch {
		case m.certain:
			certain = appendNew(certain, m.timeframe)
		case k == 0 || joined[k] && slices.Contains(possible, list[k-1].timeframe):
			possible = appendNew(possible, m.timeframe)
		}
	}
	return certain, possible
}

// joined says of each mention whether it is the next item of the list that the one
// before it is in: "1h or 4h", "1h, 4h and 1d". A comma alone joins only before a link.
func (r *briefReader) joined() []bool {
	all := make([]bool, len(r.frames))
	for k := len(r.frames) - 1; k > 0; k-- {
		a, b := r.frames[k-1], r.frames[k]
		between := r.words[min(a.to, b.from):b.from]
		other := slices.ContainsFunc(between, func(w string) bool { return w != stop && !slices.Contains(links, w) })
		link := slices.ContainsFunc(between, func(w string) bool { return slices.Contains(links, w) })
		all[k] = !other && (link || k+1 < len(all) && all[k+1])
	}
	return all
}
