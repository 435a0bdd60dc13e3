package market

import (
	"bytes"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ktrdr/ktrdr/num"
)

// samePrices compares prices to the last bit.
var samePrices = cmp.AllowUnexported(Prices{}, place{})

func TestEncodePrices_ComesBackUnchanged(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		b := &Bars{Timeframe: rapid.SampledFrom(Timeframes).Draw(rt, "timeframe")}
		at := rapid.Int64Range(-1e9, 1e10).Draw(rt, "first")
		for range rapid.IntRange(0, 200).Draw(rt, "bars") {
			c := math.Ldexp(rapid.Float64Range(1, 2).Draw(rt, "close"), rapid.IntRange(-99, 98).Draw(rt, "exponent"))
			b.Append(Bar{at, c, c, c, c, 1, 0})
			at += rapid.Int64Range(1, 1e7).Draw(rt, "distance")
		}
		p := NewPrices(b)
		back, err := DecodePrices(EncodePrices(p))
		if err != nil {
			rt.Fatal(err)
		}
		if !bytes.Equal(EncodePrices(back), EncodePrices(p)) {
			rt.Fatal("the bytes differ")
		}
		if p.Len() > 0 {
			if diff := cmp.Diff(p, back, samePrices); diff != "" {
				rt.Fatal(diff)
			}
		}
	})
}

// TestEncodePrices_IsCompact also holds the rounding to what it may cost.
func TestEncodePrices_IsCompact(t *testing.T) {
	for _, c := range []struct {
		tf   Timeframe
		bars int
		most float64 // bytes for a bar
	}{{M1, 200_000, 2.2}, {H1, 60_000, 2.2}, {H4, 15_000, 2.3}, {D1, 2500, 3.2}} {
		b := from2015(c.tf, c.bars, 1)
		p := NewPrices(b)
		perBar := float64(len(EncodePrices(p))) / float64(c.bars)
		t.Logf("%s: %.2f bytes a bar", c.tf, perBar)
		if perBar > c.most {
			t.Errorf("%s: %.2f bytes a bar, want at most %.2f", c.tf, perBar, c.most)
		}
		var m moments
		kept := closesOf(p)
		for i := 1; i < b.Len(); i++ {
			m.add(num.Log(b.Close[i]/b.Close[i-1]), kept[i].log-kept[i-1].log)
		}
		if r := m.correlation(); r < 0.999999 {
			t.Errorf("%s: the kept returns correlate %v with those of the bars", c.tf, r)
		}
	}
}

// TestEncodePrices_HasTheDocumentedBytes: prices that were kept must be read by
// every later version.
func TestEncodePrices_HasTheDocumentedBytes(t *testing.T) {
	b := &Bars{Timeframe: H1, Time: []int64{7200, 10_800, 14_400, 25_200}}
	logs := []int64{-5, 1000, 1000, 936}
	want := "ktrdr prices 1\n" + "\x021h" + "\x14" + "\x04" +
		"\xc0\x70" + // 7200
		"\x90\x1c" + // 3600
		"\x02\x01" + "\x01\x03" + // two closes at 3600, one at 10800
		"\x09" + "\xda\x0f" + "\x00" + "\x7f" // -5, +1005, 0, -64
	if got := string(encodePrices(b, 20, func(i int) int64 { return logs[i] })); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	p, err := DecodePrices([]byte(want))
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range closesOf(p) {
		if unit := math.Ldexp(1, -20); p.Len() != 4 || p.last != b.Time[3] || c.time != b.Time[i] || c.log != float64(logs[i])*unit {
			t.Errorf("%d closes of which the %dth is %v", p.Len(), i, c)
		}
	}
}

// closesOf are all closes of prices.
func closesOf(p *Prices) (all []someClose) {
	c := p.all().closes()
	for block := c.next(); len(block) > 0; block = c.next() {
		all = append(all, block...)
	}
	return all
}

func TestDecodePrices_RefusesDamage(t *testing.T) {
	good := EncodePrices(NewPrices(from2015(H1, 50, 1)))
	for n := range len(good) {
		if _, err := DecodePrices(good[:n]); !errors.Is(err, errPrices) {
			t.Fatalf("the first %d of %d bytes: %v", n, len(good), err)
		}
	}
	head := pricesMagic + "\x021h\x14"
	for _, c := range []struct{ name, text, want string }{
		{"other bytes", "ktrdr prices 2\n", `do not begin with "ktrdr prices 1\n"`},
		{"no timeframe", pricesMagic + "\x023h\x14\x00", `timeframe "3h" is not one of`},
		{"digits", pricesMagic + "\x021h\x40\x00", "64 digits are more than 47"},
		{"more", string(good) + "x", "1 bytes follow the last close"},
		{"more closes than bytes", head + "\xff\xff\xff\x07\x00\x01", "16777215 closes do not fit into 2 bytes"},
		{"two closes at one time", head + "\x02\x00\x01\x01\x00\x00\x00", "a distance between two closes is 0"},
		{"an endless distance", head + "\x02\x00\xff\xff\xff\xff\xff\xff\x01\x01\x02\x00\x00", "0 or too large"},
		{"a run beyond the number", head + "\x02\x00\x01\x02\x01\x00\x00", "a run of distances is missing or too large"},
		{"a huge logarithm", head + "\x01\x00\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f", "a logarithm is missing or too large"},
	} {
		if _, err := DecodePrices([]byte(c.text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzDecodePrices(f *testing.F) {
	for _, tf := range []Timeframe{M1, H1, D1, Mo1} {
		f.Add(EncodePrices(NewPrices(from2015(tf, 40, 1))))
	}
	f.Add([]byte(pricesMagic + "\x021h\x14\xff\xff\xff\xff\x07"))
	other := NewPrices(from2015(H1, 300, 2))
	f.Fuzz(func(t *testing.T, data []byte) {
		n := allocated(func() {
			p, err := DecodePrices(data)
			if err != nil {
				if !errors.Is(err, errPrices) {
					t.Error(err)
				}
				return
			}
			back, err := DecodePrices(EncodePrices(p))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(p, back, samePrices); diff != "" {
				t.Fatal(diff)
			}
		})
		if most := uint64(1<<20 + 4096*len(data)); n > most { // cmp.Diff takes most of it
			t.Errorf("%d bytes of input took %d bytes of memory", len(data), n)
		}
		if p, err := DecodePrices(data); err == nil && p.Len() < 2000 {
			if l := Compare(p, other); math.IsNaN(l.Correlation) {
				t.Errorf("compared: %v", l)
			}
		}
	})
}
