package market

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestNormalise_DoesWhatItSaysAndNoMore(t *testing.T) {
	const text = `time,open,high,low,close,volume
2020-01-02 03:00,4,4,4,4,4
2020-01-02 00:00,1,1,1,1,1
2020-01-02 02:00,3,3,3,3,-3
2020-01-02 01:00,2,2,2,2,2
2020-01-02 01:00,9,8,7,5,2
2020-01-02 04:00,nan,1,1,1,1
2020-01-02 05:00,0,1,1,1,1
2020-01-02 05:30,6,6,6,6,6
never,7,7,7,7,7
2020-01-02 06:00Z,7,7,7,7,7
2020-01-02 08:00,8,8,8,8,8
`
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Mode: Normalise})
	if err != nil {
		t.Fatal(err)
	}
	at := func(h int) int64 { return 1577923200 + int64(h)*3600 }
	want := &Bars{
		Timeframe: H1, Time: []int64{at(0), at(1), at(2), at(3), at(8)},
		Open: []float64{1, 9, 3, 4, 8}, High: []float64{1, 9, 3, 4, 8}, Low: []float64{1, 5, 3, 4, 8},
		Close: []float64{1, 5, 3, 4, 8}, Volume: []float64{1, 2, 0, 4, 8},
	}
	if diff := cmp.Diff(want, b); diff != "" {
		t.Error(diff)
	}
	if !rep.Sorted || rep.Rows != 11 || rep.Bars != 5 || rep.Dropped != 6 || rep.Widened != 1 || rep.Cleared != 1 {
		t.Errorf("report %+v", rep)
	}
	wantCounts := map[Rule]int{
		OutOfOrder: 4, Negative: 1, Duplicate: 1, Inconsistent: 1, NaN: 1, NonPositive: 1, Misaligned: 1, Unreadable: 1, MixedZone: 1, Missing: 1,
	}
	if diff := cmp.Diff(wantCounts, rep.Counts); diff != "" {
		t.Error(diff)
	}
	if !slices.IsSortedFunc(rep.Findings, func(a, b Finding) int { return a.Line - b.Line }) {
		t.Errorf("findings are not in the order of the file: %v", rep.Findings)
	}
}

func TestNormalise_KeepsInstantsOfSeveralZones(t *testing.T) {
	text := "date,open,high,low,close\n2020-03-05 00:00:00-05:00,1,1,1,1\n2020-03-05 01:00:00-05:00,1,1,1,1\n" +
		"2020-03-05 04:00:00-03:00,1,1,1,1\n2020-03-05 05:00:00-03:00,1,1,1,1\n"
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Mode: Normalise})
	if err != nil || b.Len() != 4 || b.Timeframe != H1 || rep.Counts[MixedZone] != 2 {
		t.Errorf("%v, %+v", err, rep)
	}
}

func TestReadCSV_ReadsOffsetsOfDaylightSavingTime(t *testing.T) {
	text := "Datetime,open,high,low,close\n2020-03-06 09:00:00-05:00,1,1,1,1\n2020-03-06 10:00:00-05:00,1,1,1,1\n" +
		"2020-03-09 09:00:00-04:00,1,1,1,1\n2020-03-09 10:00:00-04:00,1,1,1,1\n"
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{})
	if err != nil || rep.Wrong() != 0 || clock(b.Time[0])+clock(b.Time[2]) != "2020-03-06 14:00:002020-03-09 13:00:00" {
		t.Errorf("%v, %+v, %+v", err, b, rep)
	}
}

func TestInvalidError_ListsTwentyAndCountsTheRest(t *testing.T) {
	text := "time,open,high,low,close\n"
	for i := range 50 {
		text += fmt.Sprintf("2020-01-02 %02d:%02d,1,1,0,1\n", i/60, i)
	}
	_, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Source: "bad.csv"})
	bad, ok := errors.AsType[*InvalidError](err)
	if !ok {
		t.Fatalf("err = %v", err)
	}
	lines := strings.Split(bad.Error(), "\n")
	if len(lines) != 22 || lines[0] != "bad.csv has 50 findings in 50 rows; correct it, or import it with normalising" ||
		lines[20] != "  bad.csv:21: non-positive: low is 0" || lines[21] != "  and 30 more" {
		t.Errorf("%d lines:\n%s", len(lines), bad)
	}
}

// TestNormalise_GivesASeriesWhateverItWasGiven shuffles, repeats and spoils
// rows; what comes out must pass the rules, and be the same when normalised
// again.
func TestNormalise_GivesASeriesWhateverItWasGiven(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		text.WriteString("time,open,high,low,close,volume\n")
		value := rapid.SampledFrom([]string{"1", "1.5", "2", "0.5", "0", "-1", "nan", "inf", "", "x", "3"})
		for range rapid.IntRange(0, 40).Draw(rt, "rows") {
			fmt.Fprintf(&text, "%d", 1577923200+900*rapid.Int64Range(0, 30).Draw(rt, "time"))
			for range 5 {
				text.WriteString("," + value.Draw(rt, "value"))
			}
			text.WriteString("\n")
		}
		b, rep, err := ReadCSV(strings.NewReader(text.String()), ImportOptions{Symbol: "X", Mode: Normalise, Timeframe: M15})
		if err != nil {
			return // nothing was left, or not of this timeframe
		}
		if rep.Bars != b.Len() || rep.Rows-rep.Dropped != b.Len() {
			rt.Fatalf("%d rows less %d dropped gave %d bars", rep.Rows, rep.Dropped, b.Len())
		}
		if _, err := Check(b, "again"); err != nil {
			rt.Fatal(err)
		}
		for i, x := range b.Time {
			if i > 0 && x <= b.Time[i-1] {
				rt.Fatalf("bar %d at %s does not come after %s", i, clock(x), clock(b.Time[i-1]))
			}
		}
	})
}

func TestCheck_LeavesTheSeriesAlone(t *testing.T) {
	b := Synth(SynthConfig{Bars: 300, Seed: 1})
	before := b.Hash()
	b.High[7] = b.Low[7] / 2
	b.Time[9] = b.Time[8]
	spoilt := b.Hash()
	rep, err := Check(b, "series")
	if bad, ok := errors.AsType[*InvalidError](err); !ok || bad.Report.Counts[Inconsistent] != 1 || rep.Counts[Duplicate] != 1 {
		t.Errorf("err = %v", err)
	}
	if b.Hash() != spoilt || before == spoilt {
		t.Error("the check changed the series")
	}
}

func TestGaps_TellsHolesFromClosingTimes(t *testing.T) {
	monday := time.Date(2020, 1, 6, 0, 0, 0, 0, time.UTC).Unix()
	weeks := func(n int, open func(day, hour int) bool, without ...int64) *Bars {
		b := &Bars{Timeframe: H1}
		for w := range n {
			for h := range 7 * 24 {
				at := monday + int64(w)*week + int64(h)*3600
				if open(h/24, h%24) && !slices.Contains(without, at) {
					b.Append(Bar{at, 1, 1, 1, 1, 1, 0})
				}
			}
		}
		return b
	}
	forex := func(d, h int) bool { return d < 5 }
	saturday := weeks(8, forex)
	saturday.Append(Bar{monday + 7*week + 5*day + 10*3600, 1, 1, 1, 1, 1, 0})
	gold := func(d, h int) bool { return d < 5 && h != 22 }
	at := func(w, d, h int) int64 { return monday + int64(w)*week + int64(d)*day + int64(h)*3600 }
	cases := []struct {
		name   string
		b      *Bars
		closed int
		holes  []Gap
	}{
		{"weekends", weeks(8, forex), 7, nil},
		{"weekends and a nightly break", weeks(8, gold), 8*5 + 7, nil},
		{"a hole of two hours", weeks(8, forex, at(3, 2, 5), at(3, 2, 6)), 7, []Gap{{at(3, 2, 4), at(3, 2, 7), 2}}},
		{"a hole at the end of a week", weeks(8, forex, at(3, 4, 23)), 6, []Gap{{at(3, 4, 22), at(4, 0, 0), 1}}},
		{"a price on one Saturday", saturday, 8, nil},
		{"a hole in a single week", weeks(1, forex, at(0, 1, 1)), 0, []Gap{{at(0, 1, 0), at(0, 1, 2), 1}}},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rep, err := Check(c.b, "x")
			if err != nil {
				t.Fatal(err)
			}
			if rep.Closed != c.closed {
				t.Errorf("closed %d times, want %d", rep.Closed, c.closed)
			}
			if diff := cmp.Diff(c.holes, rep.Holes); diff != "" {
				t.Error(diff)
			}
			if rep.Counts[Missing] != len(c.holes) {
				t.Errorf("%d gaps counted, want %d", rep.Counts[Missing], len(c.holes))
			}
		})
	}
}

// TestGaps_ALostMonthIsAHole has bars of three days a month only: of no hour of
// the week can be learnt that the market is open.
func TestGaps_ALostMonthIsAHole(t *testing.T) {
	all := Synth(SynthConfig{Bars: 500})
	for i := range all.Time {
		all.Time[i] = all.Time[0] + int64(i)*3600 + int64(i/50)*40*day
	}
	rep, err := Check(all, "f")
	if err != nil {
		t.Fatal(err)
	}
	if got := rep.Counts[Missing]; got != 9 {
		t.Errorf("%d gaps, want the 9 of 40 days", got)
	}
}

func TestGaps_CountsMissingWeeksAndMonths(t *testing.T) {
	for _, c := range []struct {
		tf   Timeframe
		text string
		want int
	}{
		{W1, "2020-01-06,2020-01-13,2020-01-20,2020-02-10,2020-02-17", 2},
		{Mo1, "2020-01-01,2020-02-01,2020-03-01,2020-07-01,2020-08-01", 3},
		{D1, "2020-01-06,2020-01-07,2020-01-09,2020-01-10,2020-01-13", 1},
	} {
		text := "date,open,high,low,close\n" + strings.ReplaceAll(c.text, ",", ",1,1,1,1\n") + ",1,1,1,1\n"
		b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if b.Timeframe != c.tf || len(rep.Holes) != 1 || rep.Holes[0].Bars != c.want {
			t.Errorf("%s: got %s with holes %v, want one of %d", c.tf, b.Timeframe, rep.Holes, c.want)
		}
	}
}

// TestRealFiles_AreAsTheirReadmeSays reads the public data sets beside the
// project where they are present.
func TestRealFiles_AreAsTheirReadmeSays(t *testing.T) {
	dir := filepath.Join("..", "..", "shared", "data")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("kept beside the project: the public data sets")
	}
	cases := []struct {
		file   string
		opt    ImportOptions
		tf     Timeframe
		bars   int
		first  string
		broken int
	}{
		{"ejtrader/AUDUSDh1.csv.gz", ImportOptions{Divide: 1e5}, H1, 57600, "2012-11-16 10:00:00", 0},
		{"ejtrader/XAUUSDh1.csv.gz", ImportOptions{Divide: 100}, H1, 57600, "2012-05-17 08:00:00", 0},
		{"ejtrader/EURUSDh4.csv.gz", ImportOptions{Divide: 1e5}, H4, 14400, "2012-11-26 20:00:00", 0},
		{"ejtrader/EURUSDd1.csv.gz", ImportOptions{Divide: 1e5}, D1, 2400, "2012-12-04 00:00:00", 0},
		{"finance-vix/vix-daily.csv", ImportOptions{Mode: Normalise}, D1, 9235, "1990-01-02 00:00:00", 47},
	}
	for _, c := range cases {
		t.Run(c.file, func(t *testing.T) {
			b, rep, err := ReadFile(t.Context(), filepath.Join(dir, c.file), c.opt)
			if err != nil {
				t.Fatal(err)
			}
			if b.Timeframe != c.tf || b.Len() != c.bars || clock(b.Time[0]) != c.first || rep.Wrong() != c.broken || rep.Widened != c.broken {
				t.Errorf("%s of %d bars from %s with %d findings", b.Timeframe, b.Len(), clock(b.Time[0]), rep.Wrong())
			}
			t.Logf("closed %d times, %d holes", rep.Closed, rep.Counts[Missing])
		})
	}
	if _, _, err := ReadFile(t.Context(), filepath.Join(dir, "finance-vix", "vix-daily.csv"), ImportOptions{}); err == nil {
		t.Error("47 broken rows were accepted")
	}
}
