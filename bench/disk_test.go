package bench_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

var (
	diskResearches = flag.Int("disk.researches", 200, "researches of BenchmarkDiskOfResearches; the aim is projected from 2000")
	diskBars       = flag.Int("disk.bars", 57_600, "bars of 1h that they are researched on")
)

// BenchmarkDiskOfResearches prints what a research that claims nothing leaves on
// disk once it is compacted, beside what it would leave without that, projects
// 100,000 of them, and prints how long a curve takes that is computed again.
func BenchmarkDiskOfResearches(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	n := *diskResearches
	uncompacted, other := diskOf(b, min(n, 40), "KTRDR_COMPACT=false")
	other.stop()
	kept, in := diskOf(b, n, "KTRDR_COMPACT=true")
	const projected = 100_000
	// The blob store keeps its empty directories, two levels of 256 each and the
	// same in the trash. There are never more, so that they do not grow with n.
	const directories = 2 * (256 + 256*256) * 4096
	gb := (float64(kept)*projected + directories) / 1e9
	fmt.Printf("disk of a research               %.1f kB kept after %d on %d bars, %.1f kB without compaction: %.3f x; "+
		"100,000 are %.2f GB with %.2f GB of directories%s\n",
		float64(kept)/1e3, n, *diskBars, float64(uncompacted)/1e3, float64(kept)/float64(uncompacted), gb, directories/1e9,
		bench.Aim(gb <= 5, "<= 5 GB"))
	in.curves()
	in.stop()
}

// diskOf researches and returns the bytes of disk that each research left; the
// installation runs on.
func diskOf(b *testing.B, n int, setting string) (perResearch int64, in *installation) {
	in = install(b)
	in.env = append(in.env, setting)
	in.run("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", fmt.Sprint(*diskBars), "--seed", "7")
	in.serve("--workers", "2")
	if _, err := in.client.Trigger(b.Context(), research.Request{Brief: "EURUSD 1h", Count: n, Seed: new(uint64(1))}, ""); err != nil {
		b.Fatal(err)
	}
	shared := in.blobs() // the bars, which all researches read
	in.allEnded()
	if strings.HasSuffix(setting, "true") {
		in.allPurged()
	}
	in.halt()
	defer in.serve("--workers", "2")
	return (in.blobs() - shared + size(b, filepath.Join(in.dir, "data", "ktrdr.db"))) / int64(n), in
}

// allEnded waits until no research is open.
func (in *installation) allEnded() {
	in.b.Helper()
	labtest.Eventually(in.b, time.Hour, "the end of all researches", func() bool {
		st, err := in.client.ResearchStatus(in.b.Context())
		if err != nil {
			in.b.Fatal(err)
		}
		return st.Capacity.Waiting+st.Capacity.Active == 0
	})
}

// allPurged waits until the trash has been emptied: until what is on disk does
// not change for longer than blobs lie in the trash.
func (in *installation) allPurged() {
	in.b.Helper()
	for last, since := in.blobs(), time.Now(); time.Since(since) < 150*time.Second; <-time.After(time.Second) {
		if now := in.blobs(); now != last {
			last, since = now, time.Now()
		}
	}
}

func (in *installation) blobs() int64 { return size(in.b, filepath.Join(in.dir, "data", "blobs")) }

// halt stops the backend as a user does, so that the write-ahead log is written
// back to the database.
func (in *installation) halt() {
	in.b.Helper()
	in.backend.End(syscall.SIGTERM)
}

// size is the bytes of disk under a path, uncompacted blocks of the file system.
func size(b *testing.B, root string) (total int64) {
	b.Helper()
	err := filepath.WalkDir(root, func(_ string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) { // it was moved meanwhile
			return nil
		}
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err == nil {
			total += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return total
}

// curves prints how long the curves of compacted backtests take.
func (in *installation) curves() {
	in.b.Helper()
	page, err := in.client.List(in.b.Context(), ktrdr.OperationQuery{
		Type: []ktrdr.Type{ktrdr.Backtesting}, Status: []ktrdr.Status{ktrdr.Completed}, Limit: 20,
	})
	if err != nil {
		in.b.Fatal(err)
	}
	var times []time.Duration
	for _, op := range page.Operations {
		if op, err := in.client.Operation(in.b.Context(), op.ID); err != nil || !op.Compacted {
			continue
		}
		begun := time.Now()
		if _, _, err := in.client.Results(in.b.Context(), op.ID, []string{"equity"}, 100, ""); err != nil {
			in.b.Fatal(err)
		}
		times = append(times, time.Since(begun))
	}
	if len(times) == 0 {
		in.b.Fatal("no backtest is compacted")
	}
	slices.Sort(times)
	most := times[len(times)-1]
	fmt.Printf("curve that is computed again     p50 %v, at most %v of %d%s\n", times[len(times)/2].Round(time.Millisecond),
		most.Round(time.Millisecond), len(times),
		bench.Aim(most <= time.Second, "<= 1 s"))
}
