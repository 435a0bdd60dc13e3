package research

import (
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// Span is which bars of a series were looked at. The hash says whether they are
// the very same; the time, whether they are the same bars of the market, however
// many have come since or were imported again.
type Span struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	From      time.Time        `json:"from"` // opening of the first bar
	To        time.Time        `json:"to"`   // close of the last
	Hash      ktrdr.Hash       `json:"bars_hash"`
}

// SpanOf describes bars, of which there is one at least.
func SpanOf(b *market.Bars) Span {
	last := b.Time[b.Len()-1]
	return Span{b.Symbol, b.Timeframe, time.Unix(b.Time[0], 0).UTC(), time.Unix(b.Timeframe.End(last), 0).UTC(), b.Hash()}
}

func begin(spans []Span) (first time.Time) {
	for _, s := range spans {
		if first.IsZero() || s.From.Before(first) {
			first = s.From
		}
	}
	return first
}
