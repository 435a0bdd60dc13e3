package sqlstore

import (
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// Bars of an older database do not say whether they were made up. Where they are
// from tells it, as far as it can.
func TestOpen_TellsWhichBarsOfAnOlderDatabaseAreMadeUp(t *testing.T) {
	series := []struct {
		symbol, timeframe, origin string
		want                      string
	}{
		{"SYNTH", "1h", "synth", "made up"},
		{"FILE", "1h", "file", "real"},
		{"TWICE", "1h", "file", "real"}, // two imports of one series
		{"TWICE", "1h", "file", "real"},
		{"MIXED", "1h", "synth", "made up"},
		{"MIXED", "1h", "file", "not known"}, // it may have been appended
		{"MIXED", "4h", "file", "real"},      // another series
		{"OTHER", "1h", "resample", "not known"},
		{"OTHER", "1h", "file", "not known"}, // what was resampled may be made up
		{"RENAMED", "1h", "rename", "not known"},
		{"FOLDER", "1h", "folder", "not known"},
	}
	for name, where := range map[string]func(testing.TB) string{"SQLite": sqlitePath, "PostgreSQL": pgtest.URL} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := where(t)
			old, err := open(t.Context(), Config{URL: url}, stepsUpTo(t, "00020~"))
			if err != nil {
				t.Fatal(err)
			}
			for i, s := range series {
				mustRaw(t, old, `INSERT INTO bars (symbol, timeframe, bars_hash, bars, first_at, last_at, file, origin, added_at, is_current)
					VALUES ($1, $2, $3, 1, 0, 0, $4, $5, $6, 0)`,
					s.symbol, s.timeframe, seriesHash(i), `{"name":"b","sha256":"`+seriesHash(i)+`","size":1}`, s.origin, i)
			}
			mustRaw(t, old, `INSERT INTO runs (id, created_at, generation_size, planned, state) VALUES ('r', 1, 1, 1, 'RUNNING')`)
			if err := old.Close(); err != nil {
				t.Fatal(err)
			}
			s := openTest(t, url, migrations)
			all, err := s.Bars(t.Context(), true)
			if err != nil || len(all) != len(series) {
				t.Fatalf("%d rows of bars, %v, want %d", len(all), err, len(series))
			}
			got := map[string]string{} // by hash
			for _, b := range all {
				got[b.Hash.String()] = madeUpText(b.MadeUp)
			}
			for i, x := range series {
				if said := got[seriesHash(i)]; said != x.want {
					t.Errorf("%s %s from %s (row %d) is %s, want %s", x.symbol, x.timeframe, x.origin, i, said, x.want)
				}
			}
			run, err := s.Run(t.Context(), "r")
			if err != nil || run.MadeUp != nil {
				t.Errorf("the prices of an older run are %s, %v, want not known", madeUpText(run.MadeUp), err)
			}
		})
	}
}

func seriesHash(i int) string { return strings.Repeat(fmt.Sprintf("%02x", i+1), 32) }

func madeUpText(is *bool) string {
	switch {
	case is == nil:
		return "not known"
	case *is:
		return "made up"
	}
	return "real"
}
