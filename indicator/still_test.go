package indicator

import "testing"

// After 20,000 bars without a move the sums of rsi and adx have come to 0, and the
// indicators say what they say of a market that has never moved.
func TestWilderSums_ComeToAnEnd(t *testing.T) {
	const moving, still = 60, 20_000
	bars := randomBars(7, moving+still)
	for i := moving; i < bars.Len(); i++ {
		p := bars.Close[moving-1]
		bars.Open[i], bars.High[i], bars.Low[i], bars.Close[i] = p, p, p, p
	}
	last := bars.Len() - 1
	if got := compute(mustNew(t, "rsi"), bars)[0][last]; got != 0 {
		t.Errorf("rsi is %v after %d still bars, want 0", got, still)
	}
	columns := compute(mustNew(t, "adx"), bars)
	if plus, less := columns[1][last], columns[2][last]; plus != 0 || less != 0 {
		t.Errorf("plus_di and minus_di are %v and %v after %d still bars, want 0", plus, less, still)
	}
	if a, b := columns[0][last], columns[0][last-5000]; a != b {
		t.Errorf("adx still moves, from %v to %v", b, a)
	}
}
