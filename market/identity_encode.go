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

// EncodePrices writes prices as bytes, the same bytes for the same prices on every machine:
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
func EncodePrices(p *Prices) []byte {
	b := make([]byte, 0, 64+3*p.Len())
	b = append(b, pricesMagic...)
	b = append(b, byte(len(p.Timeframe)))
	b = append(b, p.Timeframe...)
	b = append(b, p.digits)
	b = binary.AppendUvarint(b, uint64(p.Len()))
	if p.Len() == 0 {
		return b
	}
	b = binary.AppendVarint(b, p.time[0])
	b = appendDistances(b, p.time)
	last := int64(0)
	for _, v := range p.log {
		b = binary.AppendVarint(b, v-last)
		last = v
	}
	return b
}

func appendDistances(b []byte, t []int64) []byte {
	unit := int64(0)
	for i := 1; i < len(t); i++ {
		unit = divisor(unit, t[i]-t[i-1])
	}
	b = binary.AppendUvarint(b, uint64(unit))
	for i := 1; i < len(t); {
		distance, from := t[i]-t[i-1], i
		for i < len(t) && t[i]-t[i-1] == distance {
			i++
		}
		b = binary.AppendUvarint(b, uint64(i-from))
		b = binary.AppendUvarint(b, uint64(distance/unit))
	}
	return b
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

// DecodePrices reads what EncodePrices wrote. It takes memory in proportion to
// the bytes it is given, whatever they say.
func DecodePrices(b []byte) (*Prices, error) {
	r := pricesReader{rest: b}
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
	rest []byte
	err  error
}

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
	p := &Prices{Timeframe: tf, digits: r.byte()}
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
	p.time, p.log = make([]int64, 0, n), make([]int64, n)
	r.times(p, n)
	last := int64(0)
	for i := range p.log {
		last += r.signed("a logarithm", 2*maxLog)
		if last > maxLog || last < -maxLog {
			r.fail("a logarithm is too large")
		}
		if r.err != nil {
			return nil
		}
		p.log[i] = last
	}
	return p
}

func (r *pricesReader) times(p *Prices, n int) {
	t := r.signed("the first instant", maxInstant)
	unit := r.number("the unit of time", maxInstant)
	p.time = append(p.time, t)
	for len(p.time) < n && r.err == nil {
		run := int(r.number("a run of distances", uint64(n-len(p.time))))
		steps := r.number("a distance", maxInstant)
		if run == 0 || steps == 0 || unit == 0 || steps > maxInstant/unit {
			r.fail("a distance between two closes is 0 or too large")
		}
		for range run {
			if t += steps * unit; t > maxInstant {
				r.fail("an instant is too late")
				return
			}
			p.time = append(p.time, t)
		}
	}
}
