package backtest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// A billion is in one unit that is sold for 1: exactly a billionth is left.
func TestRun_ExactlyABillionthOfTheCapitalIsRuin(t *testing.T) {
	for price, ended := range map[float64]Reason{1: OnRuin, 1.0000001: OnEnd} {
		dear, cheap := row{1e9, 1e9, 1e9, 1e9}, row{price, price, price, price}
		r := drawn{series(dear, dear, cheap, cheap), []Signal{Buy, Sell, Hold, Hold}, Config{InitialCapital: 1e9, PositionSize: 1}}.run(t)
		if len(r.Trades) != 1 || r.Trades[0].Quantity != 1 || r.Ended != ended {
			t.Errorf("sold at %v: %+v, ended by %v, want %v", price, r.Trades, r.Ended, ended)
		}
	}
}

func TestState_OfARuinedRunSurvivesStorage(t *testing.T) {
	d := drawn{series(calm, calm, row{300, 310, 290, 300}, calm), []Signal{Sell, Hold, Hold, Buy}, Config{PositionSize: 1, AllowShort: true}}
	var st RunState
	if err := Run(d.bars, d.signals, d.cfg, &st, 4); err != nil || !st.Ruined {
		t.Fatalf("ruined %v, %v; want a ruined run", st.Ruined, err)
	}
	b, err := st.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	var read RunState
	if err := read.UnmarshalBinary(b); err != nil || !read.Ruined || read.Bar != st.Bar || !slices.Equal(read.Trades, st.Trades) {
		t.Errorf("%+v, %v; want %+v", read, err, st)
	}
	for name, change := range map[string]func(*RunState){
		"an order":    func(st *RunState) { st.Pending = Buy },
		"a position":  func(st *RunState) { st.Holding.Units = 1 },
		"no bars yet": func(st *RunState) { st.Bar, st.Equity, st.Trades, st.LastFill, st.LastTime = 0, nil, nil, -1, 0 },
	} {
		bad := st
		change(&bad)
		b, err := bad.MarshalBinary()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.UnmarshalBinary(b); !errors.Is(err, ErrCorrupt) {
			t.Errorf("ruined with %s: error is %v, want ErrCorrupt", name, err)
		}
	}
}

// The figures of a portfolio begin at one of its bars.
func TestDecodePortfolio_BeginsAtOneOfItsBars(t *testing.T) {
	for start, ok := range map[int]bool{-1: false, 0: true, 5: true, 6: false} {
		p := combine(t, twoAccounts(t)) // of six bars
		p.Sum.Config.StartBar = start
		if _, err := DecodePortfolio(encodePortfolio(t, p)); (err == nil) != ok || err != nil && !errors.Is(err, ErrCorrupt) {
			t.Errorf("from bar %d: error is %v, want it read: %v", start, err, ok)
		}
	}
}

func TestColumns_SayWhatIsMissing(t *testing.T) {
	empty := newWriter(kindResult, 0).finish()
	if r := newReader(empty, kindResult); r.err != nil {
		t.Errorf("a file without columns: %v", r.err)
	}
	if _, err := Decode(empty); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "column config is missing") {
		t.Errorf("a result without columns: %v, want the missing column named", err)
	}
	w := newWriter(kindResult, 0)
	put(w, "time", []int64{1, 2, 3})
	body := bytes.Clone(w.b)
	binary.LittleEndian.PutUint32(body[len(magic)+4:], 1) // columns
	for count, says := range map[uint64]string{
		3: "", 4: "column time is cut off", 24: "column time is cut off", math.MaxUint64: "column time is cut off",
	} {
		binary.LittleEndian.PutUint64(body[fileHead+nameSize+8:], count)
		r := newReader(sealed(body), kindResult)
		got := take[int64](r, "time")
		if (r.err == nil) != (says == "") || r.err != nil && !strings.Contains(r.err.Error(), says) {
			t.Errorf("3 times called %d: %v with %v, want %q", count, got, r.err, says)
		}
	}
}

// Nothing is the largest of a row in which nothing is above negative infinity.
func TestFromProbabilities_ARowWithoutALargestIsAHold(t *testing.T) {
	no := float32(math.Inf(-1))
	signals, confidence, err := FromProbabilities([]float32{no, no, no, 0.9, 0.1, 0}, Decision{})
	if err != nil || !slices.Equal(signals, []Signal{Hold, Buy}) || !slices.Equal(confidence, []float32{0, 0.9}) {
		t.Errorf("signals %v, confidence %v, %v; want a Hold of confidence 0, then a Buy", signals, confidence, err)
	}
}
