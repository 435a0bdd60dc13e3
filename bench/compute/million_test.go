//go:build unix

package compute

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

const million = 1_000_000

// cache prints what it takes to open the file of a million bars, and to read every
// value where it lies, beside one copy of as many bytes.
func cache(b *testing.B) {
	b.Helper()
	path := barsFile(b, market.Synth(market.SynthConfig{Timeframe: market.M1, Bars: million}))
	src, dst := make([]byte, 48*million), make([]byte, 48*million)
	copy(src, dst) // both are in memory now
	bars, c, err := market.OpenVerified(path)
	check(b, err)
	sum := 0.0
	took := best(9, func() { sum += total(bars) }, func() { copy(dst, src) }, func() {
		_, c, err := market.OpenVerified(path)
		check(b, err)
		check(b, c.Close())
	})
	check(b, c.Close())
	if !(sum > 0) {
		b.Fatal("nothing was read")
	}
	read, copied, opened := took[0].Seconds(), took[1].Seconds(), took[2].Seconds()
	line("1,000,000 bars from cache", "every value read in %.2f ms = %.2f x one memcpy of 48 MB (%.2f ms); opened with all checks in %.0f ms",
		1000*read, read/copied, 1000*copied, 1000*opened)
}

// barsFile writes the file of a series and gives its path.
func barsFile(b *testing.B, bars *market.Bars) string {
	b.Helper()
	f, err := os.Create(filepath.Join(b.TempDir(), "x"+market.Suffix))
	check(b, err)
	check(b, market.Encode(f, bars))
	check(b, f.Close())
	return f.Name()
}

// total reads every value of a series.
func total(bars *market.Bars) float64 {
	var t int64
	for _, v := range bars.Time {
		t += v
	}
	sum := float64(t)
	for _, column := range [][]float64{bars.Open, bars.High, bars.Low, bars.Close, bars.Volume} {
		var s [4]float64
		for i := 0; i+4 <= len(column); i += 4 {
			s[0] += column[i]
			s[1] += column[i+1]
			s[2] += column[i+2]
			s[3] += column[i+3]
		}
		sum += s[0] + s[1] + s[2] + s[3]
	}
	return sum
}

const childVariable = "KTRDR_BENCH_MILLION"

// memory prints the peak memory of preparing and training a million bars of 40
// features for one epoch, in a process of its own.
func memory(b *testing.B) {
	b.Helper()
	self, err := os.Executable()
	check(b, err)
	cmd := exec.CommandContext(b.Context(), self)
	cmd.Env = append(os.Environ(), childVariable+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	_, peak, found := strings.Cut(string(out), "peak ")
	if !found {
		line("training 1,000,000 x 40", "not measured: this system does not tell a process's peak of memory")
		return
	}
	kb, err := strconv.ParseFloat(strings.Fields(peak)[0], 64)
	check(b, err)
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	line("training 1,000,000 x 40", "%.0f MB at the peak, %.1f CPU s for one epoch%s", kb/1024, used.Seconds(), aim(kb <= 1<<20, "<= 1 GB"))
}

// TestMain is also the way into the child of memory.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	if err := millionBars(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// millionBars trains one epoch and prints the peak of memory, where the system
// tells it.
func millionBars(ctx context.Context) error {
	s, _, err := strategy.Parse([]byte(wide()), "wide.yaml")
	if err != nil {
		return err
	}
	bars := market.Synth(market.SynthConfig{Symbol: "AAA", Timeframe: market.M1, Bars: million, Seed: 1})
	ds, _, err := train.Prepare(s, []train.Series{{Symbol: "AAA", Bars: []*market.Bars{bars}}}, train.Options{})
	if err != nil {
		return err
	}
	r, err := train.Start(ds, s, 1, neural.Best())
	if err != nil {
		return err
	}
	for !r.Done() {
		if err := r.Epoch(ctx, nil); err != nil {
			return err
		}
	}
	if _, _, err := r.Finish(); err != nil {
		return err
	}
	status, _ := os.ReadFile("/proc/self/status")
	for l := range strings.Lines(string(status)) {
		if fields := strings.Fields(l); len(fields) > 1 && fields[0] == "VmHWM:" {
			fmt.Printf("peak %s kB\n", fields[1])
		}
	}
	return nil
}

// wide is a strategy of 40 features.
func wide() string {
	var indicators, sets, inputs strings.Builder
	for n := 5; n < 15; n++ {
		fmt.Fprintf(&indicators, "  rsi_%d: {type: rsi, period: %d}\n", n, n)
		fmt.Fprintf(&sets,
			"  zone_%d:\n    indicator: rsi_%d\n    a: [0, 20, 40]\n    b: [30, 45, 60]\n    c: [50, 65, 80]\n    d: [60, 80, 100]\n", n, n)
		fmt.Fprintf(&inputs, "  - {fuzzy_set: zone_%d, timeframes: all}\n", n)
	}
	return "name: wide\nversion: \"3.0\"\ntraining_data:\n  symbols: {mode: single, symbol: AAA}\n" +
		"  timeframes: {mode: single, timeframe: 1m}\n" +
		"indicators:\n" + indicators.String() + "fuzzy_sets:\n" + sets.String() + "nn_inputs:\n" + inputs.String() +
		"model: {type: mlp, architecture: {hidden_layers: [64, 32], dropout: 0.2}}\n" +
		"decisions: {output_format: classification}\n" +
		"training:\n  labels: {source: triple_barrier, compute_weights: true}\n  epochs: 1\n  batch_size: 256\n"
}
