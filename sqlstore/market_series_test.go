package sqlstore

import (
	"bytes"
	"crypto/sha256"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// TestBackup_KeepsThePricesOfSeries: without them a market could not be
// recognised after a restore.
func TestBackup_KeepsThePricesOfSeries(t *testing.T) {
	s := openTest(t, InstalledSQLite(t), migrations)
	content := []byte("prices of a series")
	hash := ktrdr.Hash(sha256.Sum256(content))
	for _, one := range []ktrdr.MarketSeries{
		{Symbol: "EURUSD", Timeframe: "1h", Hash: ktrdr.Hash{1}, Prices: ktrdr.Artifact{Name: "prices", SHA256: hash, Size: int64(len(content))}},
		{Symbol: "GBPUSD", Timeframe: "1h", Hash: ktrdr.Hash{2}}, // its prices are unknown
	} {
		if _, err := s.AddSeries(t.Context(), ktrdr.NewSeries{MarketSeries: one}); err != nil {
			t.Fatal(err)
		}
	}
	archive := mustBackup(t, s, blobMap{hash: content})
	target, restored := openTest(t, InstalledSQLite(t), migrations), blobMap{}
	if damaged, err := Restore(t.Context(), target, restored, bytes.NewReader(archive)); err != nil || len(damaged) > 0 {
		t.Fatalf("restore: %v, damaged %v", err, damaged)
	}
	if len(restored) != 1 || !bytes.Equal(restored[hash], content) {
		t.Errorf("%d blobs were restored, want the prices alone", len(restored))
	}
	all, err := target.Series(t.Context())
	if err != nil || len(all) != 2 {
		t.Errorf("%d series were restored, want 2 (%v)", len(all), err)
	}
}
