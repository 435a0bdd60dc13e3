package market

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// hours writes local times of New York as rows; the close of a row is its number.
func hours(times ...string) string {
	var b strings.Builder
	b.WriteString("time,open,high,low,close\n")
	for i, at := range times {
		fmt.Fprintf(&b, "%s,%d,%d,%d,%d\n", at, i+1, i+1, i+1, i+1)
	}
	return b.String()
}

func newYork(t interface {
	Helper()
	Fatal(...any)
},
) *time.Location {
	t.Helper()
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func TestZone_TheRepeatedHourIsToldApartByOrder(t *testing.T) {
	const d = "2024-11-03 "
	for name, c := range map[string]struct {
		rows []string
		want string // instant=number of the row
	}{
		"hours": {
			[]string{d + "00:00", d + "01:00", d + "01:00", d + "02:00"},
			"04:00=1 05:00=2 06:00=3 07:00=4",
		},
		"half hours": {
			[]string{d + "00:30", d + "01:00", d + "01:30", d + "01:00", d + "01:30", d + "02:00"},
			"04:30=1 05:00=2 05:30=3 06:00=4 06:30=5 07:00=6",
		},
		"half hours with a hole in the first hour": {
			[]string{d + "00:30", d + "01:30", d + "01:00", d + "01:30", d + "02:00", d + "02:30"},
			"04:30=1 05:30=2 06:00=3 06:30=4 07:00=5 07:30=6",
		},
		"newest first": {
			[]string{d + "02:00", d + "01:00", d + "01:00", d + "00:00", "2024-11-02 23:00"},
			"03:00=5 04:00=4 05:00=3 06:00=2 07:00=1",
		},
		"the file begins and ends in it": {
			[]string{d + "01:00", d + "01:30", d + "01:00", d + "01:30"},
			"05:00=1 05:30=2 06:00=3 06:30=4",
		},
	} {
		b, rep, err := ReadCSV(strings.NewReader(hours(c.rows...)), ImportOptions{Zone: newYork(t), Mode: Normalise})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := numbered(b); got != c.want || rep.Dropped != 0 {
			t.Errorf("%s: got %s with %d rows left out, want %s", name, got, rep.Dropped, c.want)
		}
	}
}

func numbered(b *Bars) string {
	var all []string
	for i, at := range b.Time {
		all = append(all, fmt.Sprintf("%s=%v", time.Unix(at, 0).UTC().Format("15:04"), b.Close[i]))
	}
	return strings.Join(all, " ")
}

// Nothing tells whether it is the first hour or the second.
func TestZone_AnHourThatIsThereOnceIsRefusedAndNeverMoved(t *testing.T) {
	const d = "2024-11-03 "
	text := hours(d+"00:00", d+"01:00", d+"02:00", d+"03:00")
	_, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Source: "f.csv", Zone: newYork(t)})
	if want := "f.csv:3: ambiguous-time: 2024-11-03 01:00:00 comes twice in America/New_York"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q", err, want)
	}
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Zone: newYork(t), Mode: Normalise})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := numbered(b), "04:00=1 07:00=3 08:00=4"; got != want || rep.Dropped != 1 || rep.Counts[AmbiguousTime] != 1 {
		t.Errorf("got %s with %+v, want %s and one row left out", got, rep.Counts, want)
	}
}

func TestZone_ASkippedTimeIsRefused(t *testing.T) {
	const d = "2024-03-10 "
	text := hours(d+"00:00", d+"01:00", d+"02:00", d+"03:00", d+"04:00")
	_, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Source: "f.csv", Zone: newYork(t)})
	if want := "f.csv:4: no-such-time: 2024-03-10 02:00:00 does not come in America/New_York"; err == nil ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q", err, want)
	}
	b, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Zone: newYork(t), Mode: Normalise})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := numbered(b), "05:00=1 06:00=2 07:00=4 08:00=5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Clocks of Havana are set back at 01:00 and those of São Paulo were set forward
// at 00:00: the day begins all the same.
func TestZone_DaysOpenWhereTheirMidnightIsRepeatedOrSkipped(t *testing.T) {
	for name, days := range map[string][]string{
		"America/Havana":    {"2024-11-01", "2024-11-02", "2024-11-03", "2024-11-04"},
		"America/Sao_Paulo": {"2018-11-02", "2018-11-03", "2018-11-04", "2018-11-05"},
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		b, _, err := ReadCSV(strings.NewReader(hours(days...)), ImportOptions{Zone: zone})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for i, at := range b.Time {
			if got := time.Unix(at, 0).In(zone).Format(time.DateOnly); got != days[i] || time.Unix(at-1, 0).In(zone).Format(time.DateOnly) == got {
				t.Errorf("%s: %s begins at %s", name, days[i], time.Unix(at, 0).In(zone))
			}
		}
	}
}

// What was written in a zone and is read in it is what it was.
func TestZone_WrittenAndReadIsTheSame(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		zone, err := time.LoadLocation(rapid.SampledFrom([]string{
			"America/New_York", "Europe/Berlin", "Australia/Lord_Howe", "America/Havana", "Asia/Tokyo", "Pacific/Apia",
		}).Draw(rt, "zone"))
		if err != nil {
			rt.Fatal(err)
		}
		step := rapid.SampledFrom([]int64{60, 300, 1800}).Draw(rt, "step")
		from := rapid.Int64Range(1_000_000_000/1800, 1_700_000_000/1800).Draw(rt, "from") * 1800
		change, _ := time.Unix(from, 0).In(zone).ZoneBounds()
		if !change.IsZero() { // begin well before a change of the clocks
			from = change.Unix() - 5*3600
		}
		var text bytes.Buffer
		text.WriteString("time,open,high,low,close\n")
		var want []int64
		for at := from; at < from+10*3600; at += step {
			want = append(want, at)
			fmt.Fprintf(&text, "%s,1,1,1,1\n", time.Unix(at, 0).In(zone).Format("2006-01-02 15:04"))
		}
		b, _, err := ReadCSV(&text, ImportOptions{Zone: zone})
		if err != nil {
			rt.Fatal(err)
		}
		for i, at := range want {
			if b.Time[i] != at {
				rt.Fatalf("row %d is at %s, want %s", i+1, clock(b.Time[i]), clock(at))
			}
		}
	})
}
