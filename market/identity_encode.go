package market

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
)

// pricesMagic begins encoded prices. Its last figure is the version.
const pricesMagic = "ktrdr prices 1\n"

// EncodePrices gives prices as bytes, the same bytes for the same prices on every machine:
//
//	"ktrdr prices 1\n"       15 bytes
//	length of the timeframe  1 byte, and the timeframe, such as "1h"
//	digits                   1 byte
//	number of closes         varint; nothing follows where it is 0
//	first instant            signed varint, Unix seconds
//	unit of time             varint, seconds: the largest that divides every distance
//	runs of distances        pairs of varints: how many closes follow, at which distance in units
//	logarithms               signed varints: the first one, then the differences
//
// An hourly close takes about 2.1 bytes.
func EncodePrices(p *Prices) []byte { return p.text }

// encodePrices encodes the closes of a series, whose logarithms log gives.
func encodePrices(b *Bars, digits uint8, log func(i int) int64) []byte {
	n := b.Len()
	text := make([]byte, 0, 64+n*5/2)
	text = append(text, pricesMagic...)
	text = append(text, byte(len(b.Timeframe)))
	text = append(text, b.Timeframe...)
	text = append(text, digits)
	text = binary.AppendUvarint(text, uint64(n))
	if n == 0 {
		return text
	}
	text = binary.AppendVarint(text, b.Time[0])
	text = appendDistances(text, b)
	last := int64(0)
	for i := range b.Places(0, n, 1) {
		v := log(i)
		text = binary.AppendVarint(text, v-last)
		last = v
	}
	return text
}

func appendDistances(text []byte, b *Bars) []byte {
	unit, t := int64(0), b.Time
	for i := range b.Places(1, len(t), 1) {
		if d := t[i] - t[i-1]; unit == 0 || d%unit != 0 {
			unit = divisor(unit, d)
		}
	}
	text = binary.AppendUvarint(text, uint64(unit))
	run, distance := 0, int64(0)
	end := func() {
		if run > 0 {
			text = binary.AppendUvarint(text, uint64(run))
			text = binary.AppendUvarint(text, uint64(distance/unit))
		}
	}
	for i := range b.Places(1, len(t), 1) {
		if d := t[i] - t[i-1]; d != distance {
			end()
			run, distance = 0, d
		}
		run++
	}
	end()
	return text
}

// divisor is the greatest common divisor.
func divisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// errPrices begins every error of DecodePrices.
var errPrices = errors.New("encoded prices are damaged")

// DecodePrices reads what EncodePrices wrote. The prices live in b, which must not be
// changed. It takes memory in proportion to the bytes it is given, whatever they say.
func DecodePrices(b []byte) (*Prices, error) {
	r := pricesReader{all: b, rest: b}
	p := r.prices()
	if r.err == nil && len(r.rest) > 0 {
		r.fail("%d bytes follow the last close", len(r.rest))
	}
	if r.err != nil {
		return nil, r.err
	}
	return p, nil
}

// pricesReader reads encoded prices. After an error it reads zeros.
type pricesReader struct {
	all  []byte
	rest []byte
	err  error
}

// at is where the rest begins.
func (r *pricesReader) at() int { return len(r.all) - len(r.rest) }

func (r *pricesReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s", errPrices, fmt.Sprintf(format, args...))
	}
	r.rest = nil
}

func (r *pricesReader) text(n int) string {
	if len(r.rest) < n {
		r.fail("they end too early")
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *pricesReader) byte() byte {
	if s := r.text(1); s != "" {
		return s[0]
	}
	return 0
}

func (r *pricesReader) number(name string, limit uint64) int64 {
	v, n := binary.Uvarint(r.rest)
	if n <= 0 || v > limit {
		r.fail("%s is missing or too large", name)
		return 0
	}
	r.rest = r.rest[n:]
	return int64(v)
}

func (r *pricesReader) signed(name string, limit int64) int64 {
	v, n := binary.Varint(r.rest)
	if n <= 0 || v > limit || v < -limit {
		r.fail("%s is missing or too large", name)
		return 0
	}
	r.rest = r.rest[n:]
	return v
}

func (r *pricesReader) prices() *Prices {
	if !strings.HasPrefix(string(r.rest[:min(len(r.rest), len(pricesMagic))]), pricesMagic) {
		r.fail("they do not begin with %q", pricesMagic)
		return nil
	}
	r.rest = r.rest[len(pricesMagic):]
	tf, err := ParseTimeframe(r.text(int(r.byte())))
	if r.err == nil && err != nil {
		r.fail("%v", err)
	}
	p := &Prices{Timeframe: tf, digits: r.byte(), text: r.all}
	if p.digits > maxDigits {
		r.fail("%d digits are more than %d", p.digits, maxDigits)
	}
	n := int(r.number("the number of closes", math.MaxInt32))
	if n > len(r.rest) { // each close takes a byte or more
		r.fail("%d closes do not fit into %d bytes", n, len(r.rest))
	}
	if r.err != nil || n == 0 {
		return p
	}
	p.n, p.marks = n, make([]place, 0, (n+markEvery-1)/markEvery)
	r.times(p)
	r.logs(p)
	return p
}

// times reads the times of all closes, and marks some of them.
func (r *pricesReader) times(p *Prices) {
	at := place{time: r.signed("the first instant", maxInstant), left: 1} // itself, at a distance of 0
	p.unit = r.number("the unit of time", maxInstant)
	for at.runs = r.at(); r.err == nil; at.runs = r.at() {
		for ; at.left > 0; at.left-- {
			if at.i%markEvery == 0 {
				p.marks = append(p.marks, at)
			}
			at.i++
			if at.time += at.step; at.time > maxInstant {
				r.fail("an instant is too late")
				return
			}
		}
		if at.i == p.n {
			p.last = at.time
			return
		}
		at.left = int(r.number("a run of distances", uint64(p.n-at.i)))
		steps := r.number("a distance", maxInstant)
		if at.left == 0 || steps == 0 || p.unit == 0 || steps > maxInstant/p.unit {
			r.fail("a distance between two closes is 0 or too large")
			return
		}
		at.step = steps * p.unit
	}
}

// logs reads the logarithms of all closes, and completes the marks.
func (r *pricesReader) logs(p *Prices) {
	last := int64(0)
	for i := 0; i < p.n && r.err == nil; i++ {
		if i%markEvery == 0 {
			p.marks[i/markEvery].log, p.marks[i/markEvery].logAt = last, r.at()
		}
		last += r.signed("a logarithm", 2*maxLog)
		if last > maxLog || last < -maxLog {
			r.fail("a logarithm is too large")
		}
	}
}
