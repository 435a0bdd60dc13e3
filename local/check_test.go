package local

import (
	"bytes"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

func TestPrintFindings_GroupsLargeNumbers(t *testing.T) {
	var out bytes.Buffer
	PrintFindings(&out, &market.DataReport{Counts: map[market.Rule]int{market.Duplicate: 94_594}}, false)
	if !strings.Contains(out.String(), "and 94,594 more; -v shows up to 1,000\n") {
		t.Errorf("printed %q", out.String())
	}
}
