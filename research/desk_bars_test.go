package research

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/market"
)

func TestDesk_PinsBarsWithoutAFileThatADeathWouldLeave(t *testing.T) {
	d, a := newDesk(t, map[string]int{"EURUSD": 3000})
	t.Setenv("TMPDIR", filepath.Join(t.TempDir(), "missing"))
	p, err := d.cut(t.Context(), []string{"EURUSD"}, []market.Timeframe{market.H1}, nil, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, pinned := range append(p.research, p.holdout...) {
		held := a.blobs[pinned.Artifact.SHA256]
		if int64(len(held)) != pinned.Artifact.Size {
			t.Errorf("%s has %d bytes, and %d are stored", pinned.Artifact.Name, pinned.Artifact.Size, len(held))
		}
		path := filepath.Join(t.TempDir(), pinned.Artifact.Name)
		if err := os.WriteFile(path, held, 0o600); err != nil {
			t.Fatal(err)
		}
		bars, closer, err := market.OpenVerified(path)
		if err != nil {
			t.Fatal(err)
		}
		if bars.Hash() != pinned.Hash {
			t.Errorf("%s holds other bars", pinned.Artifact.Name)
		}
		var file bytes.Buffer
		if err := market.Encode(&file, bars); err != nil || !bytes.Equal(file.Bytes(), held) {
			t.Errorf("%s is not the file that a library would hold, %v", pinned.Artifact.Name, err)
		}
		_ = closer.Close()
	}
}
