package evidence

import (
	"fmt"
	"strings"
	"testing"
)

// The numbers of the comparison with buy-and-hold are those of its text.
func TestJudge_BuyAndHoldIsComparedWithTheNumbersOfItsText(t *testing.T) {
	v := Judge(strong(), Rules{})
	for _, r := range v.Reasons {
		if r.Code != BeatsHold {
			continue
		}
		if r.Value == nil || r.Limit == nil || r.Passed != (*r.Value > *r.Limit) {
			t.Fatalf("%+v: want a value, a limit, and to pass where the value is above", r)
		}
		if want := fmt.Sprintf("is %.3g on the test part; it must be above buy-and-hold's %.3g", *r.Value, *r.Limit); !strings.Contains(r.Text, want) {
			t.Errorf("the numbers are %v and %v, and the text %q", *r.Value, *r.Limit, r.Text)
		}
		return
	}
	t.Error("buy-and-hold was not compared")
}
