package market

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// The two bars that every layout below writes.
var twoBars = &Bars{
	Symbol: "EURUSD", Timeframe: H1, Time: []int64{1577923200, 1577926800}, // 2020-01-02 00:00 and 01:00
	Open: []float64{1.1, 1.2}, High: []float64{1.3, 1.4}, Low: []float64{1.05, 1.1}, Close: []float64{1.2, 1.3}, Volume: []float64{10, 20},
}

func TestReadCSV_KnowsTheUsualLayouts(t *testing.T) {
	cases := map[string]string{
		"pandas": "timestamp,open,high,low,close,volume\n2020-01-02 00:00:00+00:00,1.1,1.3,1.05,1.2,10\n" +
			"2020-01-02 01:00:00+00:00,1.2,1.4,1.1,1.3,20\n",
		"pandas index without a name": ",open,high,low,close,volume\n2020-01-02 00:00:00,1.1,1.3,1.05,1.2,10\n" +
			"2020-01-02 01:00:00,1.2,1.4,1.1,1.3,20\n",
		"capitals and Windows line ends": "Date,Open,HIGH,Low,Close,Volume\r\n2020-01-02 00:00,1.1,1.3,1.05,1.2,10\r\n" +
			"2020-01-02 01:00,1.2,1.4,1.1,1.3,20\r\n",
		"byte order mark": "\ufeffdatetime,open,high,low,close,tick_volume\n2020-01-02T00:00:00Z,1.1,1.3,1.05,1.2,10\n" +
			"2020-01-02T01:00:00Z,1.2,1.4,1.1,1.3,20\n",
		"quotes": "\"time\",\"open\",\"high\",\"low\",\"close\",\"volume\"\n" +
			"\"2020-01-02 00:00\",\"1.1\",\"1.3\",\"1.05\",\"1.2\",\"10\"\n\"2020-01-02 01:00\",\"1.2\",\"1.4\",\"1.1\",\"1.3\",\"20\"\n",
		"a separator within quotes": "note,time,open,high,low,close,volume\n\"a,b\",2020-01-02 00:00,1.1,1.3,1.05,1.2,10\n" +
			"\"c,d\",2020-01-02 01:00,1.2,1.4,1.1,1.3,20\n",
		"MetaTrader 5": "<DATE>\t<TIME>\t<OPEN>\t<HIGH>\t<LOW>\t<CLOSE>\t<TICKVOL>\t<VOL>\t<SPREAD>\n" +
			"2020.01.02\t00:00:00\t1.1\t1.3\t1.05\t1.2\t10\t0\t7\n2020.01.02\t01:00:00\t1.2\t1.4\t1.1\t1.3\t20\t0\t7\n",
		"MetaTrader 4": "2020.01.02,00:00,1.1,1.3,1.05,1.2,10\n2020.01.02,01:00,1.2,1.4,1.1,1.3,20\n",
		"date and time in two columns": "Date;Time;Open;High;Low;Close;Volume\n2020-01-02;00:00;1.1;1.3;1.05;1.2;10\n" +
			"2020-01-02;01:00;1.2;1.4;1.1;1.3;20\n",
		"histdata":                  "20200102 000000;1.1;1.3;1.05;1.2;10\n20200102 010000;1.2;1.4;1.1;1.3;20\n",
		"digits only":               "20200102000000,1.1,1.3,1.05,1.2,10\n20200102010000,1.2,1.4,1.1,1.3,20\n",
		"Unix seconds":              "1577923200,1.1,1.3,1.05,1.2,10\n1577926800,1.2,1.4,1.1,1.3,20\n",
		"Unix seconds with a point": "1577923200.0,1.1,1.3,1.05,1.2,10\n1577926800.0,1.2,1.4,1.1,1.3,20\n",
		"thousandths": "timestamp,open,high,low,close,volume\n1577923200000,1.1,1.3,1.05,1.2,10\n" +
			"1577926800000,1.2,1.4,1.1,1.3,20\n",
		"millionths": "timestamp,open,high,low,close,volume\n1577923200000000,1.1,1.3,1.05,1.2,10\n" +
			"1577926800000000,1.2,1.4,1.1,1.3,20\n",
		"billionths": "timestamp,open,high,low,close,volume\n1577923200000000000,1.1,1.3,1.05,1.2,10\n" +
			"1577926800000000000,1.2,1.4,1.1,1.3,20\n",
		"a zone two hours east": "time,open,high,low,close,volume\n2020-01-02T02:00:00+02:00,1.1,1.3,1.05,1.2,10\n" +
			"2020-01-02T03:00:00+0200,1.2,1.4,1.1,1.3,20\n",
		"columns in another order": "close,low,high,open,volume,timestamp\n1.2,1.05,1.3,1.1,10,2020-01-02 00:00:00.000\n" +
			"1.3,1.1,1.4,1.2,20,2020-01-02 01:00:00.000\n",
		"exponents, signs and long tails": "time,open,high,low,close,volume\n2020-01-02 00:00,+1.1,13e-1,1.05000000000000000000,0.12e1,1e1\n" +
			"2020-01-02 01:00,1.2,1.4,1.1,1.3,2E1\n",
		"blank lines and no end of line": "time,open,high,low,close,volume\n\n2020-01-02 00:00,1.1,1.3,1.05,1.2,10\n  \n" +
			"2020-01-02 01:00,1.2,1.4,1.1,1.3,20",
		"spaces after separators": "time, open, high, low, close, volume\n2020-01-02 00:00, 1.1, 1.3, 1.05, 1.2, 10\n" +
			"2020-01-02 01:00, 1.2, 1.4, 1.1, 1.3, 20\n",
		"more columns than rows need": "time,open,high,low,close,adj close,volume,symbol\n2020-01-02 00:00,1.1,1.3,1.05,1.2,9,10,x\n" +
			"2020-01-02 01:00,1.2,1.4,1.1,1.3,9,20,x\n",
		"a Unix column beside the date": "unix,date,symbol,open,high,low,close,volume\n5,2020-01-02 00:00,x,1.1,1.3,1.05,1.2,10\n" +
			"6,2020-01-02 01:00,x,1.2,1.4,1.1,1.3,20\n",
		"slashes between parts of the day": "time,open,high,low,close,volume\n2020/01/02 00:00,1.1,1.3,1.05,1.2,10\n" +
			"2020/01/02 01:00,1.2,1.4,1.1,1.3,20\n",
	}
	for name, text := range cases {
		t.Run(name, func(t *testing.T) {
			for _, in := range [][]byte{[]byte(text), zipped(text)} {
				got, _, err := ReadCSV(bytes.NewReader(in), ImportOptions{Symbol: "EURUSD"})
				if err != nil {
					t.Fatal(err)
				}
				want := *twoBars
				if name == "MetaTrader 5" {
					want.Spread = []float64{0.07, 0.07} // 7 points of prices with two digits
				}
				if diff := cmp.Diff(&want, got); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}

func zipped(text string) []byte {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(text)); err != nil {
		panic(err)
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func TestReadCSV_WithoutVolumeHasNone(t *testing.T) {
	for name, text := range map[string]string{
		"no column":    "DATE,OPEN,HIGH,LOW,CLOSE\r\n1990-01-02,1,2,1,2\r\n1990-01-03,1,2,1,2\r\n",
		"empty fields": "date,open,high,low,close,volume\n1990-01-02,1,2,1,2,\n1990-01-03,1,2,1,2\n",
		"words":        "date,open,high,low,close,volume\n1990-01-02,1,2,1,2,NaN\n1990-01-03,1,2,1,2,null\n",
	} {
		b, _, err := ReadCSV(strings.NewReader(text), ImportOptions{})
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if b.Timeframe != D1 || b.Lacking() != 2 {
			t.Errorf("%s: timeframe %s with volumes %v, want 1d and none known", name, b.Timeframe, b.Volume)
		}
	}
}

func TestReadCSV_TakesTimesWithoutZoneAsOfTheZoneAsked(t *testing.T) {
	zone, err := time.LoadLocation("America/New_York")
	if err != nil {
		t.Fatal(err)
	}
	text := "time,open,high,low,close\n2020-01-02 09:00,1,1,1,1\n2020-01-02 10:00,1,1,1,1\n2020-07-02 09:00,1,1,1,1\n"
	b, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Zone: zone})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := clock(b.Time[0])+" "+clock(b.Time[2]), "2020-01-02 14:00:00 2020-07-02 13:00:00"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestReadCSV_DividesPointsAfterRounding(t *testing.T) {
	text := "Date,open,high,low,close,tick_volume\n2012-11-16 10:00:00,97611.00000000001,97613.0,97500.0,97600.99999999999,4912\n" +
		"2012-11-16 11:00:00,1,1,1,1,1\n"
	b, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Divide: 1e5})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := b.At(0), (Bar{1353060000, 0.97611, 0.97613, 0.975, 0.97601, 4912, 0}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestReadCSV_NamesWhatItRefuses(t *testing.T) {
	const head = "time,open,high,low,close,volume\n"
	const row = "2020-01-02 00:00,1.1,1.3,1.05,1.2,10\n"
	cases := []struct{ name, text, want string }{
		{"not a number", head + row + "2020-01-02 01:00,1.1,nan,1,1.2,10\n", "f.csv:3: nan: high is not a number"},
		{"infinite", head + row + "2020-01-02 01:00,1.1,1e999,1,1.2,10\n", "f.csv:3: inf: high is +Inf"},
		{"no price", head + row + "2020-01-02 01:00,1.1,1.2,0,1.2,10\n", "f.csv:3: non-positive: low is 0"},
		{"negative volume", head + row + "2020-01-02 01:00,1.1,1.2,1,1.2,-10\n", "f.csv:3: negative-volume: volume is -10"},
		{
			"open above high", head + row + "2020-01-02 01:00,1.3,1.2,1,1.2,10\n",
			"f.csv:3: ohlc-inconsistent: open 1.3 and close 1.2 do not both lie between low 1 and high 1.2",
		},
		{"a time again", head + row + row, "f.csv:2: duplicate: 2020-01-02 00:00:00 comes again at 3"},
		{
			"out of order", head + row + "2020-01-01 23:00,1.1,1.3,1,1.2,10\n",
			"f.csv:3: out-of-order: 2020-01-01 23:00:00 comes after 2020-01-02 00:00:00",
		},
		{
			"a zone later on", head + row + "2020-01-02 01:00Z,1.1,1.3,1,1.2,10\n",
			"f.csv:3: mixed-zone: this time has zone +00:00, the first row has no zone",
		},
		{
			"another zone", head + "2020-01-02 00:00+01:00,1,1,1,1,1\n2020-01-02 03:00+03:00,1.1,1.3,1,1.2,10\n",
			"f.csv:3: mixed-zone: this time has zone +03:00, the first row has zone +01:00",
		},
		{
			"off the hour", head + row + "2020-01-02 01:00,1,1,1,1,1\n2020-01-02 02:07,1.1,1.3,1,1.2,10\n",
			"f.csv:4: misaligned: 2020-01-02 02:07:00 is not where a 1h bar opens",
		},
		{"no number", head + row + "2020-01-02 01:00,1.1,high,1,1.2,10\n", `f.csv:3: unreadable: high "high" is not a number`},
		{"no price at all", head + row + "2020-01-02 01:00,,1.2,1,1.2,10\n", "f.csv:3: unreadable: open is empty"},
		{"no time", head + row + "yesterday,1,1,1,1,1\n", `f.csv:3: unreadable: time "yesterday" is not in a known form`},
		{"no day", head + row + "2020-02-30,1,1,1,1,1\n", `f.csv:3: unreadable: time "2020-02-30" is not`},
		{"no hour", head + row + "2020-01-02 25:00,1,1,1,1,1\n", `f.csv:3: unreadable: time of day "25:00" is not`},
		{"part of a second", head + row + "2020-01-02 01:00:00.5,1,1,1,1,1\n", `f.csv:3: unreadable: time of day`},
		{"a short row", head + row + "2020-01-02 01:00,1,1\n", "f.csv:3: unreadable: the row ends before low"},
		{"a header without close", "time,open,high,low\n", `f.csv: line 1: the header "time,open,high,low" has no column for close`},
		{"two opens", "time,open,high,low,close,open\n", `f.csv: line 1: columns 2 and 6 are both named "open"`},
		{"no header and five columns", "2020-01-02,1,1,1,1\n", "f.csv: line 1: "},
		{"nothing", "", "f.csv: the file is empty"},
		{"a header only", head, "f.csv: there are no rows below the header"},
		{"lines of an old Mac", strings.ReplaceAll(head+row, "\n", "\r"), "f.csv: line 1 has carriage returns in it"},
		{"UTF-16 cut short", "\xff\xfet\x00i", "f.csv: the UTF-16 text ends in the middle of a character"},
		{
			"nothing but empty lines", string(zipped(strings.Repeat("\n", maxBlank+1))),
			"f.csv: line 1000001: there are more than 1000000 empty lines",
		},
		{"a number of Go only", head + row + "2020-01-02 01:00,1,0x1p0,1,1,1\n", `f.csv:3: unreadable: high "0x1p0" is not a number`},
		{"digits in groups", head + row + "2020-01-02 01:00,1,1,1,1,1_0\n", `f.csv:3: unreadable: volume "1_0" is not a number`},
		{"a price beyond all", head + row + "2020-01-02 01:00,1,1e31,1,1,1\n", "f.csv:3: extreme: high is 1e+31"},
		{"a price near nothing", head + row + "2020-01-02 01:00,1,1,1e-31,1,1\n", "f.csv:3: extreme: low is 1e-31"},
		{"a volume beyond all", head + row + "2020-01-02 01:00,1,1,1,1,1e300\n", "f.csv:3: extreme: volume is 1e+300"},
		{"an endless line", strings.Repeat("1", 100_000), "f.csv: line 1 is longer than 65536 bytes"},
		{"damaged gzip", string(zipped(head + row))[:30], "f.csv: gzip: the file was cut short"},
		{"a distance of no timeframe", head + row + "2020-01-02 00:07,1,1,1,1,1\n", "f.csv: bars are mostly 7m apart, which is no timeframe"},
		{"one bar", head + row, "f.csv: one bar does not show its timeframe"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			b, rep, err := ReadCSV(strings.NewReader(c.text), ImportOptions{Source: "f.csv"})
			if err == nil {
				t.Fatalf("accepted %d bars", b.Len())
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, want %q in it", err, c.want)
			}
			if bad, ok := errors.AsType[*InvalidError](err); ok && bad.Report.Wrong() != 1 {
				t.Errorf("got %d findings, want 1: %v", bad.Report.Wrong(), rep.Findings)
			}
		})
	}
}

func TestReadCSV_StopsAtTheRowLimit(t *testing.T) {
	text := "time,open,high,low,close\n2020-01-02,1,1,1,1\n2020-01-03,1,1,1,1\n2020-01-06,1,1,1,1\n"
	if _, _, err := ReadCSV(strings.NewReader(text), ImportOptions{MaxRows: 2}); err == nil ||
		!strings.Contains(err.Error(), "line 4: there are more than 2 rows") {
		t.Errorf("err = %v", err)
	}
	if _, _, err := ReadCSV(strings.NewReader(text), ImportOptions{MaxRows: 3}); err != nil {
		t.Errorf("three rows within a limit of three: %v", err)
	}
}

func TestReadCSV_RefusesATimeframeThatTheTimesContradict(t *testing.T) {
	text := "time,open,high,low,close\n2020-01-02 00:00,1,1,1,1\n2020-01-02 04:00,1,1,1,1\n2020-01-02 08:00,1,1,1,1\n"
	for _, tf := range []Timeframe{H1, D1, M1, Mo1} {
		_, _, err := ReadCSV(strings.NewReader(text), ImportOptions{Timeframe: tf})
		if want := fmt.Sprintf("bars are mostly 4h apart, as of timeframe 4h and not %s as asked", tf); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: err = %v, want %q", tf, err, want)
		}
	}
	sparse := "time,open,high,low,close\n2020-01-02 00:00,1,1,1,1\n2020-01-02 03:00,1,1,1,1\n"
	if b, _, err := ReadCSV(strings.NewReader(sparse), ImportOptions{Timeframe: H1}); err != nil || b.Timeframe != H1 {
		t.Errorf("hourly bars with a hole: %v", err)
	}
}

func TestReadCSV_RefusesOptionsThatMakeNoSense(t *testing.T) {
	for _, opt := range []ImportOptions{{Divide: -1}, {Divide: math.NaN()}, {Timeframe: "3h"}, {MaxRows: -1}} {
		if _, _, err := ReadCSV(strings.NewReader("x"), opt); err == nil {
			t.Errorf("%+v was accepted", opt)
		}
	}
}

func TestNumbers_AreThoseOfStrconv(t *testing.T) {
	check := func(rt interface {
		Helper()
		Fatalf(string, ...any)
	}, text string,
	) {
		rt.Helper()
		want, err := strconv.ParseFloat(text, 64)
		if strings.ContainsAny(text, "_xX") { // as no price file writes them
			err = strconv.ErrSyntax
		}
		got, ok := parseNumber([]byte(text))
		if ok != (err == nil || math.IsInf(want, 0)) || ok && math.Float64bits(got) != math.Float64bits(want) {
			rt.Fatalf("%q is %v (%t), want %v (%v)", text, got, ok, want, err)
		}
		if v, n, ok := shortNumber([]byte(text+";x"), ';'); ok && (n != len(text) || v != want) {
			rt.Fatalf("%q before a separator is %v of %d bytes, want %v", text, v, n, want)
		}
	}
	for _, text := range []string{
		"", ".", "0", "-0", "1.", ".5", "9007199254740992", "9007199254740993", "9007199254740993.0", "0.1", "123456789012345678",
		"1234567890123456789",
		"12345678901234567890123", "0.000000000000000001", "0.0000000000000000001", "1e22", "1e23", "1..2", "1.2.3", "0x1p3", "1_000", "inf",
		"NaN", "103428.00000000001", "4.35", "00001.5",
	} {
		check(t, text)
	}
	rapid.Check(t, func(rt *rapid.T) {
		check(rt, rapid.StringMatching(`-?[0-9]{0,20}(\.[0-9]{0,20})?(e-?[0-9]{1,3})?`).Draw(rt, "number"))
	})
	rapid.Check(t, func(rt *rapid.T) {
		v := rapid.Float64().Draw(rt, "value")
		check(rt, strconv.FormatFloat(v, 'f', rapid.IntRange(-1, 12).Draw(rt, "digits"), 64))
	})
}

func TestStamps_AreThoseOfPackageTime(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		sec := rapid.Int64Range(-5364662400, 7289654399).Draw(rt, "instant")
		zone := time.FixedZone("", 60*rapid.IntRange(-12*60, 14*60).Draw(rt, "zone"))
		layout := rapid.SampledFrom([]string{
			time.RFC3339, "2006-01-02 15:04:05", "2006.01.02 15:04:05", "2006/01/02T15:04:05", "20060102 150405", "20060102150405",
			"2006-01-02 15:04:05-07:00", "2006-01-02 15:04:05 -0700", "2006-01-02T15:04:05.000Z07:00",
		}).Draw(rt, "layout")
		at := time.Unix(sec, 0).In(zone)
		text := at.Format(layout)
		want, err := time.ParseInLocation(layout, text, time.UTC)
		if err != nil {
			rt.Fatal(err)
		}
		s := stampReader{zone: time.UTC}
		if y := at.Year(); y < firstYear || y > lastYear {
			rt.Skip("a zone moved it into another century")
		}
		got, problem := s.read([]byte(text), nil)
		if problem != "" || got.sec != want.Unix() {
			rt.Fatalf("%q is %s (%s), want %s", text, clock(got.sec), problem, want)
		}
	})
}

func TestReadCSV_RecognisesNothingInAnEmptyFile(t *testing.T) {
	if _, rep, err := ReadCSV(strings.NewReader(""), ImportOptions{Source: "f.csv"}); err == nil || rep.Recognised != nil {
		t.Errorf("recognised %+v, error %v", rep.Recognised, err)
	}
}

func TestReadCSV_RefusesAHeaderOfWhichAColumnIsNotKnown(t *testing.T) {
	const rows = "2020-01-02,1.2,1.3,1.0,1.1,5\n2020-01-03,1.1,1.4,1.0,1.3,6\n"
	for name, c := range map[string]struct{ head, says string }{
		"some columns are known": {"Date,Close/Last,High,Low,Open,Volume\n", `line 1: the header "Date,Close/Last,High,Low,Open,Volume"`},
		"none is known":          {"Tag,Ende,Oben,Unten,Beginn,Menge\n", `line 1: "Tag,Ende,Oben,Unten,Beginn,Menge"`},
		"a title above it":       {"Prices of 2020\nTag,Ende,Oben,Unten,Beginn,Menge\n", `line 2: "Tag,Ende,Oben,Unten,Beginn,Menge"`},
		"more columns":           {"Date,Close/Last,High,Low,Open,Volume,\n", `line 1: the header "Date,Close/Last,High,Low,Open,Volume`},
		"the first row is wrong": {"2020-13-01,1.2,1.3,1.0,1.1,5\n", `line 1: "2020-13-01,1.2,1.3,1.0,1.1,5"`},
	} {
		t.Run(name, func(t *testing.T) {
			b, _, err := ReadCSV(strings.NewReader(c.head+rows), ImportOptions{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("read %+v, err = %v, want %q in it", b, err, c.says)
			}
		})
	}
	if _, _, err := ReadCSV(strings.NewReader("Prices,of,2020,,,\n"+rows), ImportOptions{}); err != nil {
		t.Errorf("a title that a spreadsheet has filled up: %v", err)
	}
}

func TestReadCSV_SharesComeBeforeMoney(t *testing.T) {
	text := "Datum;Erster;Hoch;Tief;Schlusskurs;Stuecke;Volumen\n2020-01-02;1,1;1,3;1,0;1,2;500;600\n2020-01-03;1,2;1,3;1,0;1,1;400;440\n"
	b, _, err := ReadCSV(strings.NewReader(text), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Bar{b.Time[0], 1.1, 1.3, 1, 1.2, 500, 0}); b.At(0) != want {
		t.Errorf("got %+v, want %+v", b.At(0), want)
	}
}

func TestRecognition_ShowsNamesInWindows1252(t *testing.T) {
	_, rep, err := ReadCSV(strings.NewReader("Datum;Er\xf6ffnung;Hoch;Tief;Schluss\n2020-01-02;1,1;1,3;1,0;1,2\n2020-01-03;1,2;1,3;1,0;1,1\n"),
		ImportOptions{})
	if err != nil || !strings.Contains(rep.Recognised.String(), "open (Eröffnung)") {
		t.Errorf("%v, %v", rep.Recognised, err)
	}
}

func TestReadCSV_RefusesColumnsOfSeveralSymbols(t *testing.T) {
	text := "Price,Close,Close,High,High,Low,Low,Open,Open\nTicker,AAPL,MSFT,AAPL,MSFT,AAPL,MSFT,AAPL,MSFT\nDate,,,,,,,,\n" +
		"2020-01-02,1,2,1,2,1,2,1,2\n2020-01-03,1,2,1,2,1,2,1,2\n"
	const want = "line 1: the file has columns of AAPL and of MSFT: write a file for each symbol"
	if _, _, err := ReadCSV(strings.NewReader(text), ImportOptions{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("err = %v, want %q in it", err, want)
	}
}
