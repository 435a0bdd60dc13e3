package research

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
)

// SeriesFacts says where the prices of a series come from, and how they were read.
// A verdict states them.
type SeriesFacts struct {
	Symbol    string     `json:"symbol"`
	Timeframe string     `json:"timeframe"`
	Source    string     `json:"source,omitempty"` // the files, the series or the folder that it was made of
	Vintage   ktrdr.Hash `json:"vintage"`          // hash of the whole series
	AddedAt   time.Time  `json:"added_at"`         // when it became current
	ktrdr.BarsRecord
	Accepted []string `json:"accepted,omitempty"` // severe findings that a person accepts
}

// String is the facts for people.
func (f SeriesFacts) String() string {
	said := []string{fmt.Sprintf("%s %s", f.Symbol, f.Timeframe)}
	for _, x := range []struct{ what, value string }{
		{"from ", f.Source},
		{"", f.Format},
		{"times ", f.Zone},
		{"prices ", f.Unit},
		{"adjustment: ", f.Adjustment},
		{"vintage ", fmt.Sprintf("%.12s of %s", f.Vintage, f.AddedAt.UTC().Format(time.DateOnly))},
		{"accepted: ", strings.Join(f.Accepted, ", ")},
	} {
		if x.value != "" {
			said = append(said, x.what+x.value)
		}
	}
	return strings.Join(said, "; ")
}

func factsOf(e jobs.SeriesInfo) SeriesFacts {
	return SeriesFacts{
		Symbol: e.Symbol, Timeframe: string(e.Timeframe), Source: clip(e.Source, maxLine), Vintage: e.Hash, AddedAt: e.AddedAt.UTC(),
		BarsRecord: e.Record, Accepted: text.Map(e.Accepted, func(a ktrdr.AcceptedFinding) string { return a.Finding }),
	}
}

// aliveFor is how long before the newest bar of the library a symbol may have ended and
// still counts as one that trades.
const aliveFor = 30 * 24 * time.Hour

// survivors warns of survivorship bias: shares that all trade until today were chosen
// among those that did not fail. It gives no warning where one of them ended before, nor
// for prices that are made up.
func survivors(traded, library []jobs.SeriesInfo, file instrument.File) []string {
	newest := int64(0)
	for _, e := range library {
		newest = max(newest, e.Last)
	}
	var symbols []string
	for _, e := range traded {
		class := file.Find(e.Symbol).Class
		if class == "" {
			if of, known := instrument.ClassOf(e.Symbol); known {
				class = of
			}
		}
		if class != instrument.Stock || e.MadeUp != nil && *e.MadeUp || newest-e.Last > int64(aliveFor/time.Second) {
			return nil
		}
		if !slices.Contains(symbols, e.Symbol) {
			symbols = append(symbols, e.Symbol)
		}
	}
	if symbols == nil {
		return nil
	}
	const form = "Survivorship bias: %s of shares that still trade at the end of the data. Shares that failed are missing, so figures " +
		"are better than an investor of that time would have had: add symbols that were delisted, or expect less."
	return []string{fmt.Sprintf(form, text.Counted(len(symbols), "symbol"))}
}
