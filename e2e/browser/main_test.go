// Package browser looks at the pages as a person does: a real Chromium, a real
// backend, and the clicks and keys of a user.
package browser

import (
	"fmt"
	"os"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/labtest"
)

func TestMain(m *testing.M) {
	code := labtest.Main(m, "")
	if err := endChromium(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}

func ktrdrID(s string) ktrdr.OperationID { return ktrdr.OperationID(s) }
