package train

import "testing"

func TestTestMetrics_KnowTheCommonestClassOfTheTestPart(t *testing.T) {
	m := TestMetrics{Samples: 10, ClassMetrics: &ClassMetrics{Classes: []ClassScore{{Samples: 2}, {Samples: 7}, {Samples: 1}}}}
	if got := m.majority(); got != 0.7 {
		t.Errorf("majority %v, want 0.7", got)
	}
	if got := (&TestMetrics{Samples: 10, RegressionMetrics: &RegressionMetrics{}}).majority(); got != 0 {
		t.Errorf("majority of a regression %v, want 0", got)
	}
}
