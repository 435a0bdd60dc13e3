package research

import (
	"reflect"
	"testing"

	"github.com/ktrdr/ktrdr/evidence"
)

// The hash of a verdict is the same whether buy-and-hold is compared by both Sharpe
// ratios, or, as in earlier versions, by their difference.
func TestHashedReasons_AreThoseOfEveryVersion(t *testing.T) {
	other := evidence.Reason{Code: evidence.EnoughTrades, Value: new(40.0), Limit: new(30.0), Passed: true}
	was := []evidence.Reason{other, {Code: evidence.BeatsHold, Text: "t", Limit: new(0.0), Passed: true}, {Code: evidence.BeatsHold, Limit: new(0.0)}}
	now := []evidence.Reason{other, {Code: evidence.BeatsHold, Text: "t", Value: new(7.99), Limit: new(0.485), Passed: true}, {Code: evidence.BeatsHold, Limit: new(0.485)}}
	value, limit := 7.99, 0.485
	was[1].Value = new(value - limit)
	for name, reasons := range map[string][]evidence.Reason{"now": now, "was": was} {
		if got := hashedReasons(reasons); !reflect.DeepEqual(got, was) {
			t.Errorf("%s is hashed as %+v, want %+v", name, got, was)
		}
	}
	if *now[1].Value != 7.99 || *now[1].Limit != 0.485 {
		t.Error("the reasons themselves were changed")
	}
	if hashedReasons(nil) != nil {
		t.Error("no reasons are hashed as some")
	}
}
