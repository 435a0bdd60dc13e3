package chaos_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// hourly is the text of a price file of n hours whose closing price is given.
func hourly(n int, price float64) string {
	var text strings.Builder
	text.WriteString("time,open,high,low,close,volume\n")
	for i := range n {
		at := time.Date(2024, 1, 1, i, 0, 0, 0, time.UTC)
		fmt.Fprintf(&text, "%s,%g,%g,%g,%g,10\n", at.Format(time.RFC3339), price, price+1, price-0.5, price+0.001*float64(i))
	}
	return text.String()
}

// dropped puts a price file into the data folder.
func dropped(t *testing.T, lab *labtest.Lab, name, text string) {
	t.Helper()
	if err := os.MkdirAll(lab.Data(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lab.Data(), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// An import is killed when its bars are stored and its result is not. A user
// corrects the bars before it is run again.
func TestImport_RunAgainUndoesNothingAndTellsItsFirstResult(t *testing.T) {
	t.Parallel()
	onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
		dropped(t, lab, "first.csv", hourly(20, 1))
		dropped(t, lab, "more.csv", hourly(30, 1))
		command := func(args ...string) string {
			t.Helper()
			out, code := lab.Command(args...)
			if code != 0 {
				t.Fatalf("%v ended with %d: %s", args, code, out)
			}
			return out
		}
		command("data", "import", filepath.Join(lab.Data(), "first.csv"), "--symbol", "EURUSD", "--timeframe", "1h")
		id := lab.Accepted(func() ktrdr.OperationID {
			return lab.Load(jobs.DataLoadRequest{Path: "more.csv", Symbol: "EURUSD", Timeframe: "1h", Mode: "append"})
		})
		lab.Killed(1, string(fault.WorkerEnding))
		if list := command("data", "list", "--json"); !strings.Contains(list, `"bars": 30`) {
			t.Fatalf("it was killed before its bars were stored:\n%s", list)
		}
		dropped(t, lab, "right.csv", hourly(25, 2))
		command("data", "import", filepath.Join(lab.Data(), "right.csv"), "--symbol", "EURUSD", "--timeframe", "1h", "--replace")
		corrected := command("data", "list", "--all", "--json")

		lab.ServeWith(1)
		op := lab.Ends(id, ktrdr.Completed)
		var r struct {
			Merged market.Merged `json:"merged"`
		}
		if err := json.Unmarshal(op.Result, &r); err != nil || op.Attempts != 2 {
			t.Fatalf("%v after %d attempts, want two: %s", err, op.Attempts, op.Result)
		}
		if r.Merged.Added != 10 || r.Merged.Same != 20 || r.Merged.Changed != 0 {
			t.Errorf("the result says %+v, want 10 added and 20 the same", r.Merged)
		}
		if now := command("data", "list", "--all", "--json"); now != corrected {
			t.Errorf("the bars were corrected to\n%s\nand are\n%s", corrected, now)
		}
	})
}

// An import is killed while it reads its file: first with the backend that runs
// it, then three times with the child process.
func TestImport_KilledLeavesNoTemporaryFile(t *testing.T) {
	t.Parallel()
	lab := labtest.New(t, labtest.SQLite, labtest.Calm)
	dropped(t, lab, "prices.csv", hourly(20, 1))
	temp := t.TempDir()
	lab.Set("TMPDIR=" + temp)
	id := lab.Accepted(func() ktrdr.OperationID {
		return lab.Load(jobs.DataLoadRequest{Path: "prices.csv", Symbol: "EURUSD", Timeframe: "1h"})
	})
	lab.Killed(1, string(fault.ImportCopied))
	nothingIn(t, temp)
	lab.ServeWith(1, "KTRDR_FAILPOINT="+string(fault.ImportCopied))
	if op := lab.Ends(id, ktrdr.Failed); op.Losses != ktrdr.PoisonLosses {
		t.Errorf("%d child processes were killed, want %d: %s", op.Losses, ktrdr.PoisonLosses, op.ErrorMessage)
	}
	nothingIn(t, temp)
}

func nothingIn(t *testing.T, dir string) {
	t.Helper()
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("%s holds %v, %v; want nothing", dir, left, err)
	}
}

// `ktrdr data import --append` is killed at every step, and run again. The series has the bars
// of one that was not killed, and the one before it is kept.
func TestAppend_KilledAtEveryStepAddsEachBarOnce(t *testing.T) {
	t.Parallel()
	command := func(lab *labtest.Lab, args ...string) {
		t.Helper()
		if out, code := lab.Command(args...); code != 0 {
			t.Fatalf("%v ended with %d: %s", args, code, out)
		}
	}
	begin := func(lab *labtest.Lab) (appends []string) {
		dropped(t, lab, "first.csv", hourly(20, 1))
		dropped(t, lab, "more.csv", hourly(30, 1))
		series := []string{"--symbol", "EURUSD", "--timeframe", "1h"}
		command(lab, append([]string{"data", "import", filepath.Join(lab.Data(), "first.csv")}, series...)...)
		return append([]string{"data", "import", filepath.Join(lab.Data(), "more.csv"), "--append"}, series...)
	}
	vintages := func(lab *labtest.Lab) (all []string) {
		for _, s := range seriesOf(t, lab) {
			all = append(all, fmt.Sprintf("%s, %d bars, current %v", s.Hash, s.Bars, s.Current))
		}
		slices.Sort(all)
		return all
	}
	calm := labtest.New(t, labtest.SQLite, labtest.Calm)
	command(calm, begin(calm)...)
	want := vintages(calm)
	if len(want) != 2 {
		t.Fatalf("undisturbed: %q", want)
	}
	var steps []string
	for _, point := range points("blob.", "tx.") {
		steps = append(steps, string(point))
		if strings.HasPrefix(string(point), "tx.") { // one transaction opens the lab, and one adds the bars
			steps = append(steps, string(point)+"@2")
		}
	}
	for _, step := range steps {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			onBoth(t, labtest.Calm, func(t *testing.T, lab *labtest.Lab) {
				appends := begin(lab)
				lab.KilledCommand(step, appends...)
				command(lab, appends...)
				if diff := cmp.Diff(want, vintages(lab)); diff != "" {
					t.Errorf("the series differ (- undisturbed, + killed):\n%s", diff)
				}
			})
		})
	}
}
