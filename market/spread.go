package market

import (
	"encoding/json"
	"math"
	"slices"
)

// TypicalSpread is the median of the spreads, as fractions of the close, and of how
// many bars it is. Spreads of 0 are not counted: programs write them where they have
// recorded none. Without spreads it is 0 of 0 bars.
func (b *Bars) TypicalSpread() (fraction float64, bars int) {
	list := make([]float64, 0, len(b.Spread))
	for i, s := range b.Spread {
		if s > 0 {
			list = append(list, s/b.Close[i])
		}
	}
	if len(list) == 0 {
		return 0, 0
	}
	slices.Sort(list)
	n := len(list)
	return (list[(n-1)/2] + list[n/2]) / 2, n
}

// Same tells whether two bars have the same values. What neither knows is the same.
func (b Bar) Same(x Bar) bool {
	same := func(u, v float64) bool { return u == v || u != u && v != v }
	return b.Time == x.Time && same(b.Open, x.Open) && same(b.High, x.High) && same(b.Low, x.Low) && same(b.Close, x.Close) &&
		same(b.Volume, x.Volume) && same(b.Spread, x.Spread)
}

// wireBar is a bar in JSON, which has no NaN: a volume that is not known is null, and
// a spread that is not known is left out.
type wireBar struct {
	Time   int64    `json:"time"`
	Open   float64  `json:"open"`
	High   float64  `json:"high"`
	Low    float64  `json:"low"`
	Close  float64  `json:"close"`
	Volume *float64 `json:"volume"`
	Spread float64  `json:"spread,omitempty"`
}

// MarshalJSON implements json.Marshaler.
func (b Bar) MarshalJSON() ([]byte, error) {
	w := wireBar{Time: b.Time, Open: b.Open, High: b.High, Low: b.Low, Close: b.Close, Volume: KnownValue(b.Volume)}
	if b.Spread == b.Spread {
		w.Spread = b.Spread
	}
	return json.Marshal(w)
}

// UnmarshalJSON implements json.Unmarshaler.
func (b *Bar) UnmarshalJSON(data []byte) error {
	var w wireBar
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	*b = Bar{w.Time, w.Open, w.High, w.Low, w.Close, math.NaN(), w.Spread}
	if w.Volume != nil {
		b.Volume = *w.Volume
	}
	return nil
}

// KnownValue is a value, or nil if it is not known.
func KnownValue(v float64) *float64 {
	if v != v {
		return nil
	}
	return &v
}
