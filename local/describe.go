package local

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backtest"
	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

// Description is what there is to know of a series.
type Description struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	Hash      string           `json:"hash"`
	Bars      int              `json:"bars"`
	MadeUp    *bool            `json:"made_up"` // its bars, or some of them, were made up; null: not known
	Origin    ktrdr.BarsOrigin `json:"origin"`
	Source    string           `json:"source,omitempty"` // the files, the series or the folder that it was made of
	First     time.Time        `json:"first"`            // opening of the first bar
	Last      time.Time        `json:"last"`
	Gaps      int              `json:"gaps"`   // while the market trades
	Closed    int              `json:"closed"` // times at which it was closed in between
	Holes     []market.Gap     `json:"holes"`  // the first gaps
	Figures   barFigures       `json:"figures"`
	Head      []shownBar       `json:"head"`
	Tail      []shownBar       `json:"tail"`

	Record   ktrdr.BarsRecord         `json:"record,omitzero"` // how its prices were read
	Findings []quality.ContentFinding `json:"findings"`        // what is doubtful in its content
	Accepted []ktrdr.AcceptedFinding  `json:"accepted,omitempty"`

	gaps string
}

// shownBar is a bar with its time as people write it.
type shownBar struct {
	Time   time.Time `json:"time"`
	Open   float64   `json:"open"`
	High   float64   `json:"high"`
	Low    float64   `json:"low"`
	Close  float64   `json:"close"`
	Volume *float64  `json:"volume"`           // null: not known
	Spread *float64  `json:"spread,omitempty"` // from bid to ask, as a price; absent: not known
}

// barFigures are simple figures of a series. Moves are from close to close, as
// fractions; null where there are too few bars.
type barFigures struct {
	Lowest      float64  `json:"lowest"`
	Highest     float64  `json:"highest"`
	Change      float64  `json:"change"`         // from the first open to the last close
	Deviation   *float64 `json:"move_deviation"` // standard deviation of a bar's move
	Volatility  *float64 `json:"volatility"`     // the same over a year
	Fall        float64  `json:"largest_fall"`
	FallAt      int64    `json:"largest_fall_at"` // Unix seconds
	Rise        float64  `json:"largest_rise"`
	RiseAt      int64    `json:"largest_rise_at"`
	BarsPerYear float64  `json:"bars_per_year"`
	MeanVolume  *float64 `json:"mean_volume"`         // of the bars whose volume is known; null: there are none
	NoVolume    int      `json:"bars_without_volume"` // it is 0
	Unknown     int      `json:"bars_with_unknown_volume"`
	Spread      float64  `json:"typical_spread,omitempty"` // median, as a fraction of the close
	Spreads     int      `json:"bars_with_spread,omitempty"`
	Flat        int      `json:"flat_bars"` // open, high, low and close are one
}

// Describe describes bars, with some from the start and the end.
func Describe(b *market.Bars, head, tail int) (Description, error) {
	rep, err := market.Check(b, b.Symbol+" "+string(b.Timeframe))
	if err != nil {
		return Description{}, fmt.Errorf("%w\nimport the data again", err)
	}
	n := b.Len()
	s := Description{
		Symbol: b.Symbol, Timeframe: b.Timeframe, Hash: fmt.Sprintf("%x", b.Hash()), Bars: n,
		First: time.Unix(b.Time[0], 0).UTC(), Last: time.Unix(b.Time[n-1], 0).UTC(),
		Gaps: rep.Counts[market.Missing], Closed: rep.Closed, Holes: rep.Holes, Figures: figuresOf(b), gaps: gaps(&rep),
	}
	head = min(head, n)
	s.Head = barsFrom(b, 0, head)
	s.Tail = barsFrom(b, max(head, n-min(tail, n)), n) // no bar twice
	return s, nil
}

func barsFrom(b *market.Bars, from, to int) []shownBar {
	list := make([]shownBar, 0, to-from)
	for i := from; i < to; i++ {
		x := b.At(i)
		s := shownBar{time.Unix(x.Time, 0).UTC(), x.Open, x.High, x.Low, x.Close, market.KnownValue(x.Volume), nil}
		if b.Spread != nil {
			s.Spread = market.KnownValue(x.Spread)
		}
		list = append(list, s)
	}
	return list
}

func figuresOf(b *market.Bars) barFigures {
	n := b.Len()
	f := barFigures{
		Lowest: b.Low[0], Highest: b.High[0], Change: b.Close[n-1]/b.Open[0] - 1,
		FallAt: b.Time[0], RiseAt: b.Time[0], BarsPerYear: backtest.BarsPerYear(b),
	}
	var sum, squares, volume float64
	f.Unknown = b.Lacking()
	f.Spread, f.Spreads = b.TypicalSpread()
	for i := range n {
		f.Lowest, f.Highest = min(f.Lowest, b.Low[i]), max(f.Highest, b.High[i])
		if v := b.Volume[i]; v == v {
			volume += v / float64(n-f.Unknown)
		}
		if b.Volume[i] == 0 {
			f.NoVolume++
		}
		if b.High[i] == b.Low[i] {
			f.Flat++
		}
		if i == 0 {
			continue
		}
		move := b.Close[i]/b.Close[i-1] - 1
		sum += move
		squares += move * move
		if move < f.Fall {
			f.Fall, f.FallAt = move, b.Time[i]
		}
		if move > f.Rise {
			f.Rise, f.RiseAt = move, b.Time[i]
		}
	}
	if f.Unknown < n {
		f.MeanVolume = &volume
	}
	if moves := float64(n - 1); moves >= 2 {
		d := math.Sqrt(max(squares-sum*sum/moves, 0) / (moves - 1))
		f.Deviation = &d
		if f.BarsPerYear > 0 {
			v := d * math.Sqrt(f.BarsPerYear)
			f.Volatility = &v
		}
	}
	return f
}

// Print prints the description for people.
func (s Description) Print(w io.Writer) {
	f := s.Figures
	fmt.Fprintf(w, "%s %s  %d bars\n", s.Symbol, s.Timeframe, s.Bars)
	term.Field(w, "span", "%s to %s UTC", term.Minute(s.First.Unix()), term.Minute(s.Last.Unix()))
	term.Field(w, "prices", "%s; from %s", term.Prices(s.MadeUp), strings.TrimSpace(string(s.Origin)+" "+s.Source))
	if r := s.Record; r != (ktrdr.BarsRecord{}) {
		term.Field(w, "read as", "%s", term.Plain(RecordText(r)))
	}
	term.Field(w, "hash", "%s", s.Hash)
	if s.gaps == "" {
		term.Field(w, "gaps", "none while the market trades; closed %d times", s.Closed)
	} else {
		term.Field(w, "gaps", "%s", s.gaps)
	}
	term.Field(w, "range", "%s to %s, %+.2f %% from the first open to the last close", term.Number(f.Lowest), term.Number(f.Highest),
		100*f.Change)
	if f.Volatility != nil {
		term.Field(w, "volatility", "%.4f %% a bar, %.1f %% a year of %.0f bars", 100**f.Deviation, 100**f.Volatility, f.BarsPerYear)
	}
	term.Field(w, "largest", "%+.2f %% at %s, %+.2f %% at %s", 100*f.Fall, term.Minute(f.FallAt), 100*f.Rise, term.Minute(f.RiseAt))
	term.Field(w, "volume", "%s; %d bars without any movement", f.volume(), f.Flat)
	if f.Spreads > 0 {
		term.Field(w, "spread", "%.4g basis points of the price, the median of %d bars", 10_000*f.Spread, f.Spreads)
	}
	printContent(w, s.Findings, s.Accepted, false)
	if len(s.Head)+len(s.Tail) == 0 {
		return
	}
	term.Rows(w, "TIME\tOPEN\tHIGH\tLOW\tCLOSE\tVOLUME", func(row func(...any)) {
		rows := func(list []shownBar) {
			for _, x := range list {
				row(term.Minute(x.Time.Unix()), term.Number(x.Open), term.Number(x.High), term.Number(x.Low), term.Number(x.Close),
					volumeText(x.Volume))
			}
		}
		rows(s.Head)
		if len(s.Head)+len(s.Tail) < s.Bars {
			row("…", "…", "…", "…", "…", "…")
		}
		rows(s.Tail)
	})
}

// RecordText says how prices were read.
func RecordText(r ktrdr.BarsRecord) string {
	var said []string
	for _, x := range []struct{ what, value string }{
		{"", r.Format}, {"times ", r.Zone}, {"prices ", r.Unit}, {"adjustment: ", r.Adjustment},
	} {
		if x.value != "" {
			said = append(said, x.what+x.value)
		}
	}
	return strings.Join(said, "; ")
}

// volume says what is known of the volumes.
func (f barFigures) volume() string {
	if f.MeanVolume == nil {
		return "not known"
	}
	said := fmt.Sprintf("%.4g on average, none in %d bars", *f.MeanVolume, f.NoVolume)
	if f.Unknown > 0 {
		said += fmt.Sprintf(", not known in %d", f.Unknown)
	}
	return said
}

func volumeText(v *float64) string {
	if v == nil {
		return "not known"
	}
	return term.Number(*v)
}
