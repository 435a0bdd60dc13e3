package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/labtest"
)

// TestServe_TakesHalfOfItsDescriptorsForConnections starts backends that may have so
// many files open, and reads how many connections each takes by default.
func TestServe_TakesHalfOfItsDescriptorsForConnections(t *testing.T) {
	t.Parallel()
	var own syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &own); err != nil {
		t.Fatal(err)
	}
	most := min(own.Max, 65536)
	for files, want := range map[uint64]uint64{256: 128, 1000: 500, most: min(16384, most/2)} {
		t.Run(fmt.Sprint(files), func(t *testing.T) {
			l := newLab(t)
			l.program = filepath.Join(t.TempDir(), "limited")
			script := fmt.Sprintf("#!/bin/sh\nulimit -n %d && exec '%s' \"$@\"\n", files, labtest.Binary(t))
			if err := os.WriteFile(l.program, []byte(script), 0o700); err != nil { //nolint:gosec // it is run
				t.Fatal(err)
			}
			l.serve("--workers", "0")
			l.scraped(fmt.Sprintf("ktrdr_connections_max %d", want))
		})
	}
}
