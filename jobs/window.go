package jobs

import (
	"time"

	"github.com/ktrdr/ktrdr/market"
)

// BarRow is a bar of prices, or several that were merged into one.
type BarRow struct {
	Time   time.Time `json:"time"` // opening of the first
	Open   float64   `json:"open"`
	High   float64   `json:"high"`
	Low    float64   `json:"low"`
	Close  float64   `json:"close"`
	Volume *float64  `json:"volume"` // null: not known
}

// BarsQuery says which bars are wanted.
type BarsQuery struct {
	From   time.Time `query:"from" doc:"the first opening (RFC 3339); by default that of the first bar"`
	To     time.Time `query:"to" doc:"no bar opens then or later (RFC 3339); by default the last bar is the last"`
	Points int       `query:"points" doc:"at most this number of bars, 1 to 1000, by default 500: neighbours are merged"`
}

// SeriesBars are bars of a series of the library, none of them of its holdout.
type SeriesBars struct {
	Symbol      string           `json:"symbol"`
	Timeframe   market.Timeframe `json:"timeframe"`
	HoldoutFrom time.Time        `json:"holdout_from"` // bars that close after this are the holdout and never here
	Selected    int              `json:"selected"`     // bars of the series between from and to
	Merged      int              `json:"merged"`       // that one row is made of
	Bars        []BarRow         `json:"bars"`
}

// InputsQuery says which bars of a training are wanted.
type InputsQuery struct {
	Symbol string    `query:"symbol" max:"100" doc:"of several that it was trained on; by default the first"`
	From   time.Time `query:"from" doc:"the first opening (RFC 3339); by default that of the test part"`
	Limit  int       `query:"limit" doc:"bars, 1 to 500; by default 200"`
}

// Inputs are what the network of a training reads, in a window of its bars, and
// the shapes of its fuzzy sets.
type Inputs struct {
	Symbol    string           `json:"symbol"`
	Timeframe market.Timeframe `json:"timeframe"`
	First     int              `json:"first"` // index of the first bar of the window
	Total     int              `json:"total"` // bars of the training
	Bars      []BarRow         `json:"bars"`
	Sets      []FuzzyInput     `json:"fuzzy_sets"`
}

// FuzzyInput is a fuzzy set on one timeframe, or an indicator that the network
// reads as it is: it has no members. A value is null where the indicator has none.
type FuzzyInput struct {
	ID        string           `json:"fuzzy_set"`
	Timeframe market.Timeframe `json:"timeframe"`
	Indicator string           `json:"indicator"` // with its parameters
	Values    []*float64       `json:"values"`    // of the indicator, at each bar of the window
	Members   []FuzzyMember    `json:"members"`
	Low       float64          `json:"low"` // the range of Curve and Counts
	High      float64          `json:"high"`
	Counts    []int            `json:"counts"` // bars of the test part by the value of the indicator, in equal steps from Low to High
}

// FuzzyMember is one membership of a fuzzy set.
type FuzzyMember struct {
	Name   string     `json:"name"`
	Values []*float64 `json:"values"` // 0 to 1, at each bar of the window
	Curve  []float64  `json:"curve"`  // at equal steps from Low to High, both included
}
