package research

import (
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

func TestSurvivors_WarnsWhereAllSharesStillTrade(t *testing.T) {
	day := func(s string) int64 {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at.Unix()
	}
	series := func(symbol, last string) jobs.SeriesInfo {
		return jobs.SeriesInfo{Symbol: symbol, Timeframe: market.D1, Last: day(last)}
	}
	alive, other, gone := series("AAPL", "2024-05-01"), series("MSFT", "2024-04-20"), series("LEH", "2008-09-15")
	made := alive
	made.MadeUp = new(true)
	for name, c := range map[string]struct {
		traded []jobs.SeriesInfo
		file   instrument.File
		want   bool
	}{
		"one share":             {[]jobs.SeriesInfo{alive}, nil, true},
		"two shares":            {[]jobs.SeriesInfo{alive, other}, nil, true},
		"one of them failed":    {[]jobs.SeriesInfo{alive, gone}, nil, false},
		"a currency":            {[]jobs.SeriesInfo{series("EURUSD", "2024-05-01")}, nil, false},
		"made-up prices":        {[]jobs.SeriesInfo{made}, nil, false},
		"a fund that is listed": {[]jobs.SeriesInfo{series("XAUUSD", "2024-05-01")}, instrument.File{"XAUUSD": {Class: instrument.Stock}}, true},
	} {
		if got := survivors(c.traded, []jobs.SeriesInfo{alive, other, gone}, c.file); (got != nil) != c.want {
			t.Errorf("%s: %q, want a warning: %t", name, got, c.want)
		}
	}
}

func TestSeriesFacts_SayHowPricesWereRead(t *testing.T) {
	e := jobs.SeriesInfo{
		Symbol: "AAPL", Timeframe: market.D1, Source: "aapl.csv", Hash: ktrdr.Hash{0xab}, AddedAt: time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC),
		Record:   ktrdr.BarsRecord{Format: "Yahoo", Zone: "UTC", Unit: "in units", Adjustment: "as in the file"},
		Accepted: []ktrdr.AcceptedFinding{{Finding: "spike"}},
	}
	const want = "AAPL 1d; from aapl.csv; Yahoo; times UTC; prices in units; adjustment: as in the file; " +
		"vintage ab0000000000 of 2024-05-01; accepted: spike"
	if got := factsOf(e).String(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
