package instrument

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const eventful = `instruments:
  AAPL:
    venue: NYSE
    dividends: [{on: 2020-08-07, amount: 0.82}]
    splits:
      - {on: 2020-08-31, ratio: 4}
      - {on: 2014-06-09, ratio: 7}
    borrow: 0.5
  ES:
    rolls: [{on: 2024-06-17, from: 5000, to: 5050}]
  BTCUSDTPERP: {funding: 10}
  EURUSD: {swap: {long: 2, short: -1}}
venues:
  NYSE: {zone: America/New_York, open: 09:30, close: 16:00, holidays: [2024-12-25, 2024-07-04]}
`

func TestParse_ReadsEventsSessionsAndCarry(t *testing.T) {
	got, err := Parse(FileName, []byte(eventful))
	if err != nil {
		t.Fatal(err)
	}
	day := func(s string) time.Time {
		at, err := time.Parse(time.DateOnly, s)
		if err != nil {
			t.Fatal(err)
		}
		return at
	}
	want := []Event{
		{Kind: SplitEvent, On: day("2014-06-09"), Ratio: 7},
		{Kind: DividendEvent, On: day("2020-08-07"), Amount: 0.82},
		{Kind: SplitEvent, On: day("2020-08-31"), Ratio: 4},
	}
	if d := cmp.Diff(want, got.Find("AAPL").Events); d != "" {
		t.Error(d)
	}
	for i, before := range []float64{700, 82, 400} {
		factor, err := want[i].Factor(before)
		if err != nil || math.Abs(factor-[]float64{1.0 / 7, 0.99, 0.25}[i]) > 1e-12 {
			t.Errorf("event %d: factor %v, %v", i, factor, err)
		}
	}
	if f, err := got.Find("ES").Events[0].Factor(1); err != nil || f != 1.01 {
		t.Errorf("roll: factor %v, %v", f, err)
	}
	if _, err := want[1].Factor(0.5); err == nil {
		t.Error("a dividend above the price is taken")
	}
	for symbol, want := range map[string]Carry{
		"AAPL": {0, 0.005}, "BTCUSDTPERP": {0.1, -0.1}, "EURUSD": {0.02, -0.01}, "GBPUSD": {},
	} {
		if got := got.Find(symbol).Carry(); got != want {
			t.Errorf("%s: carry %+v, want %+v", symbol, got, want)
		}
	}
	session := got.Find("AAPL").Session
	for at, want := range map[string]bool{
		"2024-07-03T13:30:00Z": true, "2024-07-03T13:29:00Z": false, "2024-07-03T19:59:00Z": true, "2024-07-03T20:00:00Z": false,
		"2024-07-04T14:00:00Z": false, "2024-07-06T14:00:00Z": false, "2024-12-24T14:30:00Z": true, "2024-12-25T15:00:00Z": false,
	} {
		instant, err := time.Parse(time.RFC3339, at)
		if err != nil {
			t.Fatal(err)
		}
		if session.Trades(instant) != want {
			t.Errorf("%s: trades is %t", at, !want)
		}
	}
}

// A session that opens in the evening belongs to the day on which it opened.
func TestSession_MayEndOnTheNextDay(t *testing.T) {
	s := Session{Zone: time.UTC, Days: [7]bool{time.Sunday: true}, Open: 22 * time.Hour, Close: 21 * time.Hour}
	sunday := time.Date(2024, 6, 2, 0, 0, 0, 0, time.UTC)
	for hour, want := range map[int]bool{20: false, 21: false, 22: true, 24: true, 44: true, 45: false, 46: false} {
		if s.Trades(sunday.Add(time.Duration(hour)*time.Hour)) != want {
			t.Errorf("hour %d: trades is %t", hour, !want)
		}
	}
}

func TestParse_SaysWhatIsWrongWithEvents(t *testing.T) {
	for text, want := range map[string]string{
		"splits: [{on: 2020-08-31, ratio: 0}]":                             "must be a number from 0.0001 to 10000, not 0",
		"splits: [{on: 31.8.2020, ratio: 4}]":                              "must be a day such as 2024-06-10",
		"splits: [{on: 2020-08-31}]":                                       "missing: ratio",
		"splits: {on: 2020-08-31}":                                         "must be a list",
		"splits: [{on: 2020-08-31, ratio: 4}, {on: 2020-08-31, ratio: 4}]": "the day 2020-08-31 is given twice",
		"dividends: [{on: 2020-08-31, ratio: 4}]":                          "there is no key \"ratio\"",
		"rolls: [{on: 2020-08-31, from: 4}]":                               "missing: to",
		"swap: {long: 2}":                                                  "missing: short",
		"swap: {long: 201, short: 0}":                                      "from -200 to 200",
		"borrow: -1":                                                       "from 0 to 200",
		"venue: NYSE":                                                      "there is no venue",
		"funding: x":                                                       "must be a number",
	} {
		_, err := Parse(FileName, []byte("instruments:\n  AAPL:\n    "+text+"\n"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), FileName+":3:") {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"open: 25:00": "a time of day such as 09:30", "zone: Mars": "a time zone such as America/New_York",
		"days: [moonday]": "a day of the week",
		"closes: 16:00":   "did you mean close?",
	} {
		if _, err := Parse(FileName, []byte("venues:\n  NYSE:\n    "+text+"\n")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}
