package market

import (
	"strings"
	"testing"
)

// MetaTrader writes a side that did not change as an empty cell. The first row has no ask yet.
func TestReadCSV_AnEmptyBidOrAskIsThatBefore(t *testing.T) {
	text := "<DATE>\t<TIME>\t<BID>\t<ASK>\t<LAST>\t<VOLUME>\t<FLAGS>\n" +
		"2020.01.02\t00:00:00.100\t1.1\t\t\t\t2\n" +
		"2020.01.02\t00:00:01.100\t1.1\t1.2\t\t\t6\n" +
		"2020.01.02\t00:00:02.100\t\t1.4\t\t\t4\n" +
		"2020.01.02\t00:00:59.900\t1.3\t\t\t\t2\n" +
		"2020.01.02\t00:01:00.000\t1.2\t1.4\t\t\t6\n"
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Bar{b.Time[0], 1.1, 1.3, 1.1, 1.3, 3, 0.16666666666667}); b.Len() != 2 || b.At(0) != want {
		t.Errorf("got %d bars, the first %+v, want %+v", b.Len(), b.At(0), want)
	}
	if said := rep.Recognised.String(); !strings.Contains(said, "left out 1 row before a bid and an ask were told") {
		t.Errorf("recognised %q", said)
	}
}

func TestReadCSV_NormalisesTicks(t *testing.T) {
	text := "time,bid,ask\n2020-01-02 00:00:00,1,1.5\n2020-01-02 00:00:01,0,1.5\n2020-01-02 00:00:02,2,1\n" +
		"2020-01-02 00:01:00,1,1.5\n2020-01-02 00:00:59,9,9\n2020-01-02 00:01:01,1e40,1e40\n"
	b, rep, err := ReadCSV(strings.NewReader(text), ImportOptions{Mode: Normalise})
	if err != nil {
		t.Fatal(err)
	}
	if want := (Bar{b.Time[0], 1, 2, 1, 2, 2, 0.5}); b.Len() != 2 || b.At(0) != want {
		t.Errorf("got %d bars, the first %+v, want %+v", b.Len(), b.At(0), want)
	}
	for rule, n := range map[Rule]int{NonPositive: 1, NegativeSpread: 1, OutOfOrder: 1, Extreme: 1} {
		if rep.Counts[rule] != n {
			t.Errorf("%s: %d findings, want %d", rule, rep.Counts[rule], n)
		}
	}
}
