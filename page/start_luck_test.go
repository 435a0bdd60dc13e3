package page

import (
	"strings"
	"testing"
)

func TestLuckFigure_MarksNowAndAfterwards(t *testing.T) {
	for _, tc := range []struct {
		now, after int
		want       []string
		points     int
	}{
		{0, 1, []string{"now and afterwards 0.00"}, 1}, // the best of one strategy is not chosen
		{0, 8, []string{">now 0.00<", ">afterwards 1.46<"}, 2},
		{8, 8, nil, 0},
	} {
		got := string(luckFigure(1, tc.now, tc.after))
		for _, w := range tc.want {
			if !strings.Contains(got, w) {
				t.Errorf("from %d to %d trials: %q is missing", tc.now, tc.after, w)
			}
		}
		if n := strings.Count(got, `class="pt `); n != tc.points {
			t.Errorf("from %d to %d trials: %d points, want %d", tc.now, tc.after, n, tc.points)
		}
	}
}
