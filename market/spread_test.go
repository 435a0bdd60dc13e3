package market

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var nan = math.NaN()

// quoted is a series with spreads and volumes of which one each is not known.
func quoted() *Bars {
	b := Synth(SynthConfig{Symbol: "EURUSD", Timeframe: H1, Bars: 48, Seed: 4})
	b.Spread = make([]float64, b.Len())
	for i := range b.Spread {
		b.Spread[i] = float64(i) * 1e-5
	}
	b.Spread[7], b.Volume[9] = nan, nan
	return b
}

// A program that knows version 1 refuses what it cannot read; what it can read is as before.
func TestEncode_OnlyWhatIsNewHasTheNewVersion(t *testing.T) {
	for _, c := range []struct {
		name    string
		change  func(*Bars)
		version uint32
	}{
		{"all is known", func(b *Bars) { b.Spread, b.Volume[9] = nil, 1 }, 1},
		{"no spreads, a volume not known", func(b *Bars) { b.Spread = nil }, 2},
		{"spreads", func(*Bars) {}, 2},
		{"spreads and every volume", func(b *Bars) { b.Volume[9] = 1 }, 2},
	} {
		b := quoted()
		c.change(b)
		var file bytes.Buffer
		if err := Encode(&file, b); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if v := binary.LittleEndian.Uint32(file.Bytes()[8:]); v != c.version {
			t.Errorf("%s: version %d, want %d", c.name, v, c.version)
		}
		got, err := Decode(file.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		if diff := cmp.Diff(b, got, cmpopts.EquateNaNs()); diff != "" || got.Hash() != b.Hash() {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestHash_IsOfWhatIsKnown(t *testing.T) {
	b, zero, none, other := quoted(), quoted(), quoted(), quoted()
	zero.Volume[9], none.Spread, other.Volume[9] = 0, nil, math.Float64frombits(0x7ff8000000000123)
	if b.Hash() == zero.Hash() || b.Hash() == none.Hash() {
		t.Error("a volume that is not known has the hash of 0, or a spread is not in the hash")
	}
	if b.Hash() != other.Hash() {
		t.Error("the bits of a NaN are in the hash")
	}
}

func TestWriteCSV_LeavesEmptyWhatIsNotKnown(t *testing.T) {
	b := quoted()
	var text bytes.Buffer
	if err := WriteCSV(&text, b); err != nil {
		t.Fatal(err)
	}
	got, _, err := ReadCSV(&text, ImportOptions{Symbol: "EURUSD"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(b, got, cmpopts.EquateNaNs()); diff != "" {
		t.Error(diff)
	}
}

func TestResample_KeepsWhatIsKnown(t *testing.T) {
	b := quoted()
	long, err := ResampleAll(b, H4)
	if err != nil {
		t.Fatal(err)
	}
	at := func(i int) (n int, spread, volume float64) {
		end := H4.End(long.Time[i])
		for k, x := range b.Time {
			if x < long.Time[i] || x >= end {
				continue
			}
			volume += b.Volume[k]
			if s := b.Spread[k]; s == s {
				spread, n = spread+s, n+1
			}
		}
		return n, spread / float64(n), volume
	}
	for i := range long.Time {
		_, spread, volume := at(i)
		if x := long.At(i); math.Abs(x.Spread-spread) > 1e-15 || x.Volume != volume && (x.Volume == x.Volume || volume == volume) {
			t.Errorf("bar %d has spread %v and volume %v, want %v and %v", i, x.Spread, x.Volume, spread, volume)
		}
	}
}

func TestMerge_WhatNeitherKnowsIsTheSame(t *testing.T) {
	b := quoted()
	all, m, err := Merge(b.Slice(0, 30), b.Slice(5, 48))
	if err != nil || m.Changed != 0 || m.Same != 25 {
		t.Fatalf("%+v, %v: want 25 the same", m, err)
	}
	if all.Hash() != b.Hash() {
		t.Error("the parts are not the whole")
	}
	plain := quoted()
	plain.Spread = nil
	all, m, err = Merge(plain.Slice(0, 30), b.Slice(28, 48))
	if err != nil || all.Spread == nil || all.Spread[0] == all.Spread[0] || all.Spread[40] != b.Spread[40] || m.Changed != 2 {
		t.Errorf("%+v, %v: want spreads of the new bars only", m, err)
	}
	if said := m.First[0].String(); !strings.Contains(said, "spread") {
		t.Errorf("a change of the spread is told as %q", said)
	}
}

func TestBar_InJSONHasNoNaN(t *testing.T) {
	for _, x := range []Bar{{1, 1, 2, 1, 2, nan, nan}, {1, 1, 2, 1, 2, 0, 0}, {1, 1, 2, 1, 2, 5, 0.1}} {
		text, err := json.Marshal(x)
		if err != nil {
			t.Fatal(err)
		}
		var got Bar
		if err := json.Unmarshal(text, &got); err != nil {
			t.Fatal(err)
		}
		if x.Spread != x.Spread {
			x.Spread = 0 // not told apart from a series without spreads
		}
		if !got.Same(x) {
			t.Errorf("%s is read as %+v", text, got)
		}
	}
}

func TestTypicalSpread_IsTheMedianOfThoseRecorded(t *testing.T) {
	b := &Bars{Symbol: "X", Timeframe: H1, Spread: []float64{}}
	for i, s := range []float64{0, 0.02, nan, 0.06, 0.04, 0} {
		b.Append(Bar{int64(i) * 3600, 2, 2, 2, 2, 1, s})
	}
	if got, n := b.TypicalSpread(); got != 0.02 || n != 3 {
		t.Errorf("the typical spread is %v of %d bars, want 0.02 of 3", got, n)
	}
	b.Spread = nil
	if got, n := b.TypicalSpread(); got != 0 || n != 0 {
		t.Errorf("without spreads it is %v of %d bars", got, n)
	}
}

func TestCheck_RefusesANegativeSpread(t *testing.T) {
	b := quoted()
	b.Spread[3] = -1
	_, err := Check(b, "x")
	if err == nil || !strings.Contains(err.Error(), "negative-spread: spread is -1: the ask is below the bid") {
		t.Errorf("err = %v", err)
	}
}

// Points of the last digit become prices, and a spread that is a price stays one.
func TestReadCSV_KnowsTheUnitOfSpreads(t *testing.T) {
	for text, want := range map[string]float64{
		"time,open,high,low,close,tick_volume,spread,real_volume\n" +
			"1577923200,1.10000,1.1,1.1,1.1,5,12,0\n1577926800,1.1,1.1,1.1,1.1,5,12,0\n": 0.00012,
		"time,open,high,low,close,volume,spread\n" +
			"1577923200,1.10000,1.1,1.1,1.1,5,0.5\n1577926800,1.1,1.1,1.1,1.1,5,0.5\n": 0.5,
	} {
		b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Source: filepath.Base("x.csv")})
		if err != nil {
			t.Fatal(err)
		}
		if b.Spread[1] != want || strings.Contains(rep.Recognised.String(), "points of 0.00001") != (want < 0.1) {
			t.Errorf("spread %v, recognised %q; want %v", b.Spread[1], rep.Recognised, want)
		}
	}
}
