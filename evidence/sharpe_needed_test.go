package evidence

import "testing"

// What a ratio needs for its own p-value is the ratio itself.
func TestSharpe_NeedsItselfForItsOwnP(t *testing.T) {
	returns := make([]float64, 500)
	for i := range returns {
		returns[i] = 0.001 + 0.01*float64(i%7-3)
	}
	s := EstimateSharpe(returns, 252)
	near(t, "needed", *s.Needed(1 - NormCDF(*s.Z)), *s.Annualized, 1e-9)
	if more := s.Needed((1 - NormCDF(*s.Z)) / 30); *more <= *s.Annualized {
		t.Errorf("a smaller p-value needs %v, not more than %v", *more, *s.Annualized)
	}
	if none := (&Sharpe{}).Needed(0.02); none != nil {
		t.Errorf("a ratio without an error needs %v", *none)
	}
}
