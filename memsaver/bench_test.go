package memsaver_test

import (
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/memsaver"
	"github.com/ktrdr/ktrdr/savertest"
)

func BenchmarkSaver(b *testing.B) {
	savertest.Bench(b, func(*testing.B) ktrdr.Saver { return memsaver.New() })
}
