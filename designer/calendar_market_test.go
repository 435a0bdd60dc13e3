package designer_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/num"
	"github.com/ktrdr/ktrdr/strategy"
)

// hourly is a random walk of hourly bars, Monday to Friday, whose drift in
// volatilities hangs on the hour at which a bar opens.
func hourly(seed uint64, bars int, drift func(hour int) float64) *market.Bars {
	const volatility = 0.001
	r := num.NewRand(num.Mix(seed, 0x686f7572))
	b := &market.Bars{Symbol: "EURUSD", Timeframe: market.H1}
	price, at := 1.0, time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC)
	for range bars {
		open := price
		price = open * num.Exp(float64(volatility*(drift(at.Hour())+r.Norm())))
		reach := float64(volatility * math.Abs(r.Norm()) / 2)
		b.Append(market.Bar{
			Time: at.Unix(), Open: open, Close: price, High: max(open, price) * (1 + reach), Low: min(open, price) * (1 - reach), Volume: 100,
		})
		if at = at.Add(time.Hour); at.Weekday() == time.Saturday {
			at = at.AddDate(0, 0, 2)
		}
	}
	return b
}

// mornings rise and afternoons fall.
func mornings(hour int) float64 {
	switch {
	case hour >= 7 && hour < 11:
		return 0.2
	case hour >= 13 && hour < 17:
		return -0.2
	}
	return 0
}

// hourDesign is the design of the first generation that begins with the hour.
func hourDesign(t *testing.T, b *market.Bars) designer.Proposal {
	t.Helper()
	brief := designer.Chosen{}.Read("hour of day on EURUSD", designer.Known{
		Series: []designer.KnownSeries{{Symbol: "EURUSD", Timeframe: market.H1, Bars: b.Len()}},
	})
	var err error
	if brief.Stats, err = designer.Measure(b); err != nil {
		t.Fatal(err)
	}
	for index := range 8 {
		p, err := designer.Design(brief, 1, 0, index, nil, halfABasisPoint)
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Genome.Inputs) == 1 && p.Genome.Inputs[0].Reading == "hour" {
			return p
		}
	}
	t.Fatal("no design of the first generation reads the hour alone")
	return designer.Proposal{}
}

// A market rises in the morning and falls in the afternoon. A design that reads
// the hour earns on bars that it was not trained on; the same design earns
// nothing when the hour is replaced by an indicator of prices.
func TestDesign_HourOfDayEarnsWhereItIsPlanted(t *testing.T) {
	b := hourly(1, 8000, mornings)
	p := hourDesign(t, b)
	with := research(t, p, b, 1)
	without := p
	at := strings.Index(p.Strategy, "fuzzy_sets:")
	end := strings.Index(p.Strategy, "nn_inputs:")
	without.Strategy = p.Strategy[:at] + "fuzzy_sets: {}\n" + p.Strategy[end:]
	without.Strategy = strings.Replace(without.Strategy, "type: hour", "type: rsi", 1)
	s, _, err := strategy.Parse([]byte(p.Strategy), p.Name)
	if err != nil {
		t.Fatal(err)
	}
	without.Strategy = strings.Replace(without.Strategy, "{fuzzy_set: "+s.Inputs[0].Fuzzy, "{raw_indicator: "+s.Indicators[0].ID+
		", normalization: zscore", 1)
	other := research(t, without, b, 1)
	if with.Sharpe == nil || *with.Sharpe < 2 {
		t.Errorf("with the hour: %+v, want a net Sharpe ratio of 2 or more", with)
	}
	if other.Sharpe != nil && *other.Sharpe > 1 {
		t.Errorf("without the hour: a net Sharpe ratio of %.2f, want less than 1", *other.Sharpe)
	}
}

// The search is told nothing of hours.
func TestDesign_FindsAPlantedHourOfDay(t *testing.T) {
	sharpes := searched(t, hourly(2, 8000, mornings), "Find something that works on EURUSD.", "mornings", 2, 1)
	if best := slices.Max(sharpes); best < 2 {
		t.Errorf("the best of %d designs has a net Sharpe ratio of %.2f out of sample, want 2 or more", len(sharpes), best)
	}
	none := searched(t, hourly(2, 8000, func(int) float64 { return 0 }), "Find something that works on EURUSD.", "none", 2, 1)
	if best := slices.Max(none); best > 2.5 { // by luck the best of eight has 2.1 in five months
		t.Errorf("without the effect a design has a net Sharpe ratio of %.2f", best)
	}
}
