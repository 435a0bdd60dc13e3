package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/fetch/fetchtest"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
)

// putInto puts a price file into a folder that is watched, as one that was written a while ago.
func putInto(t *testing.T, folder, name, text string, age time.Duration) {
	t.Helper()
	part := filepath.Join(folder, "."+name+".part")
	err := os.WriteFile(part, []byte(text), 0o600)
	if at := time.Now().Add(-age); err == nil {
		err = os.Chtimes(part, at, at)
	}
	if err == nil {
		err = os.Rename(part, filepath.Join(folder, name))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// startedBy are the operations of a type, by status.
func startedBy(t *testing.T, lab *labtest.Lab, of ktrdr.Type) (all []ktrdr.Operation, by map[ktrdr.Status]int) {
	t.Helper()
	by = map[ktrdr.Status]int{}
	for _, op := range lab.Roots() {
		if op.Type == of {
			all = append(all, lab.Op(op.ID))
			by[op.Status]++
		}
	}
	return all, by
}

// A folder is watched. The backend is killed at every step; each content of a file is imported
// once, and a file with an error stops no other.
func TestFollowFolder_KilledAtEveryStepImportsEachFileOnce(t *testing.T) {
	t.Parallel()
	for _, step := range []string{
		string(fault.BlobWritten), string(fault.BlobRenamed), string(fault.BlobDurable) + "@2", string(fault.TxCommitting),
		string(fault.TxCommitted), string(fault.TxCommitted) + "@3", string(fault.WorkerClaimed), string(fault.ImportCopied),
		string(fault.WorkerEnding), string(fault.WorkerEnded) + "@2",
	} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			atStep(t, step, func(t *testing.T, lab *labtest.Lab) { watchedAfterAKill(t, lab, step) })
		})
	}
}

func watchedAfterAKill(t *testing.T, lab *labtest.Lab, step string) {
	t.Helper()
	folder, armed := t.TempDir(), filepath.Join(t.TempDir(), "armed")
	if out, code := lab.Command("data", "follow", "--folder", folder, "--every", "5s"); code != 0 {
		t.Fatal(out)
	}
	backend := lab.ServeWith(1, "KTRDR_FAILPOINT="+step, "KTRDR_FAILPOINT_ARMED_BY="+armed)
	putInto(t, folder, "EURUSD_1h.csv", hourly(20, 1), 3*time.Hour)
	putInto(t, folder, "EURUSD-1h-2024-01.csv", hourly(25, 1), 2*time.Hour)
	putInto(t, folder, "BROKEN_1h.csv", hourly(20, 1)+"2024-02-01T00:00:00Z,1,0.5,2,1,10\n", 2*time.Hour)
	putInto(t, folder, "GBPUSD_1h.csv", hourly(20, 2), time.Hour)
	putInto(t, folder, "USDJPY_1h.csv", hourly(20, 3), 5*time.Second) // as one that is still being written, for 10 seconds
	if err := os.WriteFile(armed, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code := backend.Exit(time.Minute); code != -1 {
		t.Fatalf("the backend ended with %d instead of being killed\n%s", code, backend.Log())
	}
	lab.ServeWith(1)
	bars := map[string]int{}
	current := func() string {
		for _, s := range lab.Series() {
			bars[s.Symbol] = s.Bars
		}
		got, _ := json.Marshal(bars)
		return string(got)
	}
	until := func(want string, operations int) {
		t.Helper()
		labtest.Eventually(t, time.Minute, want, func() bool { return current() == want })
		labtest.Eventually(t, time.Minute, "the imports to end", func() bool {
			all, by := startedBy(t, lab, ktrdr.DataLoad)
			return by[ktrdr.Completed]+by[ktrdr.Failed] == len(all)
		})
		if all, by := startedBy(t, lab, ktrdr.DataLoad); len(all) != operations || by[ktrdr.Failed] != 1 {
			t.Errorf("%d imports, %v; want %d of which one failed", len(all), by, operations)
		}
	}
	until(`{"EURUSD":25,"GBPUSD":20,"USDJPY":20}`, 5)
	putInto(t, folder, "EURUSD_1h.csv", hourly(30, 1), time.Minute)
	until(`{"EURUSD":30,"GBPUSD":20,"USDJPY":20}`, 6)
	if n := len(seriesOf(t, lab)); n != 5 {
		t.Errorf("%d series, want three and two that were replaced", n)
	}
	if out, code := lab.Command("data", "unfollow", "--folder", folder); code != 0 || !strings.Contains(out, "not kept current any more") {
		t.Error(out)
	}
}

// oneEachTurn checks that no turn of a followed series started two fetches, and that at least a
// number of turns started one.
func oneEachTurn(t *testing.T, lab *labtest.Lab, least int) {
	t.Helper()
	of := map[int64]ktrdr.OperationID{}
	all, _ := startedBy(t, lab, ktrdr.DataFetch)
	for _, op := range all {
		spec, err := ktrdr.ParseSpec[jobs.FetchSpec](op.Spec)
		if err != nil {
			t.Fatal(err)
		}
		if spec.Turn == 0 {
			continue
		}
		if first := of[spec.Turn]; first != "" {
			t.Errorf("%s and %s are both of the turn %d", first, op.ID, spec.Turn)
		}
		of[spec.Turn] = op.ID
	}
	if len(of) < least {
		t.Errorf("%d turns had a fetch, want at least %d", len(of), least)
	}
}

// Two backends of one database share the turns, of a series and of a folder that both see.
func TestFollow_TwoBackendsStartOneFetchEachTurn(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.Postgres, labtest.Calm)
	source, folder := &fetchtest.Server{}, t.TempDir()
	_, env := source.Start(t)
	lab.Set(env...)
	for _, args := range [][]string{
		{"data", "follow", "coinbase", "BTC-USD", "1h", "--every", "5s"}, {"data", "follow", "--folder", folder, "--every", "5s"},
	} {
		if out, code := lab.Command(args...); code != 0 {
			t.Fatal(out)
		}
	}
	putInto(t, folder, "EURUSD_1h.csv", hourly(20, 1), time.Hour)
	putInto(t, folder, "GBPUSD_1h.csv", hourly(20, 2), time.Hour)
	second := lab.Second()
	second.Set(env...)
	lab.ServeWith(1)
	second.ServeWith(1)
	labtest.Eventually(t, 2*time.Minute, "four fetches and two imports", func() bool {
		_, fetches := startedBy(t, lab, ktrdr.DataFetch)
		_, imports := startedBy(t, lab, ktrdr.DataLoad)
		return fetches[ktrdr.Completed] >= 4 && imports[ktrdr.Completed] >= 2
	})
	oneEachTurn(t, lab, 4)
	if all, _ := startedBy(t, lab, ktrdr.DataLoad); len(all) != 2 {
		t.Errorf("%d imports of two files", len(all))
	}
}

// New bars come into a folder, and the claim of their market is followed over them.
func TestFollow_NewBarsFeedALivingClaim(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	all, folder := claimIn(lab), t.TempDir()
	lab.ServeWith(2)
	if out, code := lab.Command("data", "follow", "--folder", folder, "--every", "5s"); code != 0 {
		t.Fatal(out)
	}
	var text strings.Builder
	text.WriteString("time,open,high,low,close,volume\n")
	for i := claimSaw - 24; i < all.Len(); i++ {
		b := all.At(i)
		fmt.Fprintf(&text, "%s,%v,%v,%v,%v,%v\n", time.Unix(b.Time, 0).UTC().Format(time.RFC3339), b.Open, b.High, b.Low, b.Close, b.Volume)
	}
	putInto(t, folder, "EURUSD_1h.csv", text.String(), time.Hour)
	if life := followed(t, lab, all); life.Bars < 1000 {
		t.Errorf("the claim was followed over %d bars", life.Bars)
	}
	if is := lab.Series()[0]; is.Hash != ktrdr.Hash(all.Hash()) {
		t.Errorf("the series has %d bars and hash %s; want the %d bars of the market", is.Bars, is.Hash, all.Len())
	}
}
