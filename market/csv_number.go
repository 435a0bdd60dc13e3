package market

import (
	"bytes"
	"math"
	"strconv"
)

// tens are the powers of ten that a float64 holds exactly.
var tens = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

// shortNumber reads the plain decimal before the separator, or the end, of
// line, and gives its length. Where the digits as a whole number fit a float64
// exactly, one division by a power of ten rounds once, as strconv.ParseFloat
// does; anything else is not ok and left to that.
func shortNumber(line []byte, sep byte) (v float64, n int, ok bool) {
	var digits uint64
	point, i := -1, 0
	for ; i < len(line); i++ {
		c := line[i]
		if d := c - '0'; d <= 9 {
			digits = digits*10 + uint64(d)
			continue
		}
		if c != '.' || point >= 0 {
			break
		}
		point = i
	}
	if i < len(line) && line[i] != sep {
		return 0, 0, false
	}
	count, scale := i, 0
	if point >= 0 {
		count, scale = i-1, i-1-point
	}
	if count == 0 || count > 18 || digits > 1<<53 {
		return 0, 0, false
	}
	return float64(digits) / tens[scale], i, true
}

// parseNumber reads any number as price files write them. One too large to hold is infinite.
func parseNumber(b []byte) (float64, bool) {
	if v, n, ok := shortNumber(b, 0); ok && n == len(b) {
		return v, true
	}
	if bytes.ContainsAny(b, "_xX") { // 1_000 and 0x1p-2 are numbers in Go only
		return 0, false
	}
	v, err := strconv.ParseFloat(string(b), 64)
	return v, err == nil || math.IsInf(v, 0)
}
