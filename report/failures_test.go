package report

import (
	"testing"

	"github.com/ktrdr/ktrdr"
)

// An id that is left out of a reason leaves no brackets.
func TestReport_AReasonWithoutItsIDHasNoBrackets(t *testing.T) {
	r := reasons{}
	for _, id := range []string{"op_dummy_20261116_010203_0a1b2c3d", "op_dummy_20261116_010203_9e3779b1"} {
		op := &ktrdr.FailedOperation{Message: "child 0 (" + id + ") ended FAILED: no room"}
		op.ID = ktrdr.OperationID(id)
		r.add(op)
	}
	if list := r.list(); len(list) != 1 || list[0].Reason != "child 0 ended FAILED: no room" {
		t.Errorf("%+v, want one reason: child 0 ended FAILED: no room", list)
	}
}
