package train

import (
	"testing"

	"github.com/ktrdr/ktrdr/metrics"
)

func TestTestMetrics_KnowTheMostFrequentClassOfTheTestPart(t *testing.T) {
	m := metrics.TestMetrics{
		Samples:      10,
		ClassMetrics: &metrics.ClassMetrics{Classes: []metrics.ClassScore{{Samples: 2}, {Samples: 7}, {Samples: 1}}},
	}
	if got := majority(&m); got != 0.7 {
		t.Errorf("majority %v, want 0.7", got)
	}
	if got := majority(&metrics.TestMetrics{Samples: 10, RegressionMetrics: &metrics.RegressionMetrics{}}); got != 0 {
		t.Errorf("majority of a regression %v, want 0", got)
	}
}
