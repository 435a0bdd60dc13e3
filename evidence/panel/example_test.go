package panel

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// The worked example of docs/research.md: its inputs and its results are recomputed.

var (
	exampleT     = []float64{2.4, -1, -3}
	exampleDrawn = [][]float64{{0.3, -0.5, 1.2}, {-1.1, 0.4, 2.6}, {0.9, 2.5, 0.2}, {-0.2, -1.0, 0.7}}
	// Returns in percent: four blocks of two days.
	exampleReturns = [][]float64{
		{2.0, 1.0, 1.5, 0.5, -1.0, 0.2, 0.1, -0.6},
		{0.3, 0.5, 0.1, 0.4, 0.2, 0.6, 0.5, 0.2},
		{-1.0, 0.1, 0.3, -0.9, 1.5, 1.0, 0.4, 1.6},
	}
)

func TestExample_OfTheDocumentationIsRecomputed(t *testing.T) {
	page, err := os.ReadFile("../../docs/research.md")
	if err != nil {
		t.Fatal(err)
	}
	says := func(format string, args ...any) {
		t.Helper()
		if text := fmt.Sprintf(format, args...); !strings.Contains(string(page), text) {
			t.Errorf("docs/research.md does not say %q", text)
		}
	}
	var list []varying
	for k, v := range exampleT {
		list = append(list, varying{trial: k, t: v})
	}
	says("| t-value | %.1f | %.1f | %.1f |", exampleT[0], exampleT[1], exampleT[2])
	for b, row := range exampleDrawn {
		says("| resample %d | %.1f | %.1f | %.1f |", b+1, row[0], row[1], row[2])
	}
	spa := superior(list, exampleDrawn, 231)
	says("p = %.1f (lower %.1f, upper %.1f)", *spa.P, *spa.Lower, *spa.Upper)
	step := StepM{Level: familyLevel, P: make([]*float64, 3), T: make([]*float64, 3)}
	step.fill(list, exampleDrawn)
	says("adjusted p-values %.1f, %.1f and %.1f", *step.P[0], *step.P[1], *step.P[2])

	p := &Panel{Days: []int32{0, 1, 2, 3, 4, 5, 6, 7}, Returns: exampleReturns}
	for k, x := range exampleReturns {
		says("| %c | %.1f, %.1f | %.1f, %.1f | %.1f, %.1f | %.1f, %.1f |", 'A'+k, x[0], x[1], x[2], x[3], x[4], x[5], x[6], x[7])
	}
	c := newCSCV(p, 4, 2)
	c.run()
	var ranks []string
	for _, w := range c.ranks {
		ranks = append(ranks, fmt.Sprintf("%.2f", w))
	}
	says("relative ranks %s", strings.Join(ranks, ", "))
	pbo := Overfitting(p, 4)
	if pbo.PBO == nil {
		t.Fatalf("PBO is missing: %s", pbo.Undefined)
	}
	says("PBO = %d/%d = %.2f", int(*pbo.PBO*6+0.5), pbo.Splits, *pbo.PBO)
}
