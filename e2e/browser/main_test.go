// Package browser looks at the pages as a person does: a real Chromium, a real
// backend, and the clicks and keys of a user.
package browser

import (
	"os"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
)

func TestMain(m *testing.M) { os.Exit(labtest.Main(m, "")) }

func ktrdrID(s string) ktrdr.OperationID { return ktrdr.OperationID(s) }
