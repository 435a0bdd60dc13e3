package chart

import (
	"strings"
	"testing"
)

// A number at an end of the column would be cut off.
func TestSkillAxis_HasNoNumberAtItsEnds(t *testing.T) {
	got := string(SkillAxis(Scale{Min: -2.4, Max: 8.1}))
	if !strings.Contains(got, ">0<") || !strings.Contains(got, ">5<") || strings.Count(got, "<text") > 3 {
		t.Errorf("the axis is %s", got)
	}
	if got := string(SkillAxis(Scale{Min: 0, Max: 10})); strings.Contains(got, ">0<") || strings.Contains(got, ">10<") {
		t.Errorf("a number is at an end of %s", got)
	}
}
