package chaos_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// months are two months of hours, which Coinbase answers in six pieces.
var months = jobs.DataFetchRequest{Source: "coinbase", Symbol: "BTC-USD", Timeframe: "1h", From: "2024-03-01", To: "2024-04-30"}

// trueBars are the bars that a fetch of hours must bring, as a series.
func trueBars(symbol string, from, to time.Time) *market.Bars {
	b := &market.Bars{Symbol: symbol, Timeframe: market.H1}
	for _, bar := range fetchtest.Bars(market.H1, from.Unix(), to.Unix()) {
		b.Append(bar)
	}
	return b
}

func wantMonths() string {
	b := trueBars("BTC-USD", time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), time.Date(2024, 5, 1, 0, 0, 0, 0, time.UTC))
	return ktrdr.Hash(b.Hash()).String()
}

// seriesOf are all series of the library, replaced ones too.
func seriesOf(t *testing.T, lab *labtest.Lab) (all []jobs.SeriesInfo) {
	t.Helper()
	out, code := lab.Command("data", "list", "--all", "--json")
	if code != 0 || json.Unmarshal([]byte(out), &all) != nil {
		t.Fatalf("data list ended with %d: %s", code, out)
	}
	return all
}

// A fetch is killed at every step. It brings the same bars, once, and asks for no piece
// again that it has saved.
func TestFetch_KilledAtEveryStepBringsTheSameBarsOnce(t *testing.T) {
	t.Parallel()
	steps := []string{
		string(fault.FetchPiece), string(fault.FetchPiece) + "@4", string(fault.WorkerClaimed), string(fault.WorkerSaving) + "@2",
		string(fault.WorkerSaved) + "@3", string(fault.BlobWritten), string(fault.BlobDurable) + "@3", string(fault.WorkerEnding),
		string(fault.WorkerEnded), string(fault.TxCommitting) + "@12", string(fault.TxCommitted) + "@12",
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
				source := &fetchtest.Server{}
				_, env := source.Start(t)
				env = append(env, "CHECKPOINT_INTERVAL_SECONDS=0.001")
				armed := filepath.Join(t.TempDir(), "armed")
				backend := lab.ServeWith(1, append(env, "KTRDR_FAILPOINT="+step, "KTRDR_FAILPOINT_ARMED_BY="+armed)...)
				if err := os.WriteFile(armed, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				id := lab.TryFetch(months)
				if code := backend.Exit(time.Minute); code != -1 {
					t.Fatalf("the backend ended with %d instead of being killed", code)
				}
				lab.ServeWith(1, env...)
				often := 2    // the piece under way may be asked for again
				if id == "" { // killed before it was accepted, or before the answer
					id, often = lab.Fetch(months), 3
				}
				fetchedOnce(t, lab, id)
				for address, n := range source.Asked() {
					if n > often {
						t.Errorf("%s was asked for %d times", address, n)
					}
				}
			})
		})
	}
}

func fetchedOnce(t *testing.T, lab *labtest.Lab, id ktrdr.OperationID) {
	t.Helper()
	var r jobs.LoadResult
	if op := lab.Ends(id, ktrdr.Completed); json.Unmarshal(op.Result, &r) != nil || r.Hash.String() != wantMonths() {
		t.Errorf("the fetch ended with %s; want bars with hash %s", op.Result, wantMonths())
	}
	if all := seriesOf(t, lab); len(all) != 1 || all[0].Hash.String() != wantMonths() || all[0].Bars != 61*24 {
		t.Errorf("the library has %+v, want one series of %d bars", all, 61*24)
	}
}

// Every life of a fetch ends after its second piece: first with its backend, then with its
// child processes. Each goes further than the one before.
func TestFetch_ResumesFromItsCheckpointInChildProcesses(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	source := &fetchtest.Server{}
	_, env := source.Start(t)
	lab.Set(append(env, "CHECKPOINT_INTERVAL_SECONDS=0.001")...)
	third := string(fault.FetchPiece) + "@3"
	id := lab.Accepted(func() ktrdr.OperationID { return lab.Fetch(months) })
	lab.Killed(1, third)
	lab.ServeWith(1, "KTRDR_FAILPOINT="+third)
	fetchedOnce(t, lab, id)
	if n := source.Total(); n > 8 {
		t.Errorf("%d requests for six pieces and two lives that ended too soon, want at most 8", n)
	}
}

// Old bars that the source has changed make a new version of the series; the old one stays.
func TestFetch_RevisedBarsMakeANewVersion(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		var revise atomic.Bool
		revised := time.Date(2024, 4, 29, 5, 0, 0, 0, time.UTC).Unix()
		source := &fetchtest.Server{Revise: func(b market.Bar) market.Bar {
			if revise.Load() && b.Time == revised {
				b.Volume++
			}
			return b
		}}
		_, env := source.Start(t)
		lab.ServeWith(1, env...)
		lab.Ends(lab.Fetch(months), ktrdr.Completed)
		first := seriesOf(t, lab)[0]
		more := months
		more.From, more.To = "2024-04-29", "2024-05-02"
		revise.Store(true)
		var r jobs.LoadResult
		op := lab.Ends(lab.Fetch(more), ktrdr.Completed)
		if err := json.Unmarshal(op.Result, &r); err != nil || r.Merged == nil || r.Merged.Changed != 1 || r.Merged.Added != 48 ||
			r.Replaced == nil ||
			r.Replaced.Hash != first.Hash {
			t.Errorf("%v: %s\nwant 48 bars added, one changed, and %s replaced", err, op.Result, first.Hash)
		}
		if all := seriesOf(t, lab); len(all) != 2 {
			t.Errorf("%d series, want the new version and the old one", len(all))
		}
		lab.Ends(lab.Fetch(more), ktrdr.Completed)
		if all := seriesOf(t, lab); len(all) != 2 {
			t.Errorf("%d series after the same fetch again, want two as before", len(all))
		}
	})
}

// What a source cannot give fails with a sentence, and is resumed where it failed.
func TestFetch_FailedIsResumedWhereItFailed(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	source := &fetchtest.Server{}
	var broken atomic.Bool
	broken.Store(true)
	source.Before = func(w http.ResponseWriter, r *http.Request, _ int) bool {
		bad := broken.Load() && r.URL.Query().Get("start") > "2024-04-01"
		if bad {
			fmt.Fprint(w, "<html>Checking your browser</html>")
		}
		return bad
	}
	_, env := source.Start(t)
	lab.ServeWith(1, env...)
	id := lab.Fetch(months)
	op := lab.Ends(id, ktrdr.Failed)
	if !strings.Contains(op.ErrorMessage, "a web page instead of JSON") {
		t.Errorf("it failed with %q", op.ErrorMessage)
	}
	before := source.Total()
	broken.Store(false)
	lab.Resume(id)
	fetchedOnce(t, lab, id)
	if n := source.Total() - before; n != 2 {
		t.Errorf("%d requests after the resume, want 2: the first pieces were there", n)
	}
}

// A series is kept current. The backend is killed at every step; the series has every bar
// once, and each turn starts one fetch at most.
func TestFollow_KilledAtEveryStepKeepsTheSeriesCurrent(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		string(fault.FetchPiece), string(fault.WorkerClaimed), string(fault.WorkerEnding), string(fault.WorkerEnded),
		string(fault.TxCommitting) + "@12", string(fault.TxCommitted) + "@12",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			atStep(t, step, func(t *testing.T, lab *labtest.Lab) { followsAfterAKill(t, lab, step) })
		})
	}
}

func followsAfterAKill(t *testing.T, lab *labtest.Lab, step string) {
	t.Helper()
	hour := time.Now().UTC().Truncate(time.Hour)
	var behind atomic.Int64 // of the source, which has no newer bars
	behind.Store(int64(30 * time.Hour))
	source := &fetchtest.Server{Now: func() time.Time { return time.Now().Add(-time.Duration(behind.Load())) }}
	_, env := source.Start(t)
	lab.Set(env...)
	backend := lab.ServeWith(1)
	first := months
	first.From, first.To = hour.AddDate(0, 0, -9).Format(time.DateOnly), ""
	lab.Ends(lab.Fetch(first), ktrdr.Completed)
	before := seriesOf(t, lab)[0]
	backend.Kill()
	if out, code := lab.Command("data", "follow", "coinbase", "BTC-USD", "1h", "--every", "5s"); code != 0 {
		t.Fatal(out)
	}
	behind.Store(0)
	lab.Killed(1, step)
	lab.ServeWith(1)
	last := hour.Add(-time.Hour)
	var is jobs.LibrarySeries
	labtest.Eventually(t, time.Minute, "the series to be current", func() bool {
		is = lab.Series()[0]
		return !is.Last.Before(last)
	})
	if want := trueBars("BTC-USD", is.First, is.Last.Add(time.Hour)); ktrdr.Hash(want.Hash()) != is.Hash ||
		is.Bars <= before.Bars {
		t.Errorf("the series has %d bars and hash %s; want %d with %s", is.Bars, is.Hash, want.Len(), ktrdr.Hash(want.Hash()))
	}
	oneEachTurn(t, lab, 1)
	if out, code := lab.Command("data", "unfollow", "BTC-USD", "1h"); code != 0 {
		t.Error(out)
	}
	if out, code := lab.Command("data", "follow"); code != 0 || !strings.Contains(out, "No series is kept current") {
		t.Errorf("after it was ended: %s", out)
	}
}
