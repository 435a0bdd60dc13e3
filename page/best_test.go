package page

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

// The axis ends at a round number of trials: the label must say what the sentence above the chart says.
func TestBestSoFar_LabelsLuckAtTheTrialsMade(t *testing.T) {
	s := &report.Search{Funnel: report.Funnel{Tried: 19}, StandardError: new(1.0)}
	want := "luck alone: " + chart.Number(s.LuckAt(19), 2)
	if got := string(bestSoFar(s)); !strings.Contains(got, want) {
		t.Error(fmt.Sprintf("%q is missing: ", want), got[max(0, strings.Index(got, "luck alone")):][:40])
	}
}
