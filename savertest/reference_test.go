package savertest

import (
	"testing"

	"github.com/ktrdr/ktrdr/thread"
)

func TestReference_Conforms(t *testing.T) {
	Run(t, func(*testing.T) thread.Saver { return newReference() })
}
