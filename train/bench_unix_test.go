//go:build unix

package train_test

import (
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/neural"
	"github.com/ktrdr/ktrdr/strategy"
	"github.com/ktrdr/ktrdr/train"
)

// cpuSeconds is what this process has used so far, all threads.
func cpuSeconds(b testing.TB) float64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Sec+u.Stime.Sec) + float64(u.Utime.Usec+u.Stime.Usec)/1e6
}

// BenchmarkJobs runs the benchmark jobs from their files to the model's bytes,
// and the backtest of their 50,000 bars with the network, in CPU seconds.
func BenchmarkJobs(b *testing.B) {
	csv := jobFile(b, "EURUSD_1h.csv.gz")
	for _, name := range []string{"bench_zz", "bench_tb"} {
		yaml := jobFile(b, name+".yaml")
		b.Run(name+"/training", func(b *testing.B) {
			from := cpuSeconds(b)
			for b.Loop() {
				job(b, csv, yaml)
			}
			b.ReportMetric((cpuSeconds(b)-from)/float64(b.N), "cpu-s/job")
		})
		b.Run(name+"/backtest", func(b *testing.B) {
			m, _, data := job(b, csv, yaml)
			from := cpuSeconds(b)
			b.ResetTimer()
			for b.Loop() {
				tradeJob(b, m, data)
			}
			b.ReportMetric(1000*(cpuSeconds(b)-from)/float64(b.N), "cpu-ms/run")
		})
	}
}

// wide is a strategy of 40 features.
func wide(t testing.TB) *strategy.Strategy {
	var indicators, sets, inputs strings.Builder
	for i := range 10 {
		n := strconv.Itoa(i + 5)
		indicators.WriteString("  rsi_" + n + ": {type: rsi, period: " + n + "}\n")
		sets.WriteString("  zone_" + n + ":\n    indicator: rsi_" + n + "\n    a: [0, 20, 40]\n    b: [30, 45, 60]\n    c: [50, 65, 80]\n    d: [60, 80, 100]\n")
		inputs.WriteString("  - {fuzzy_set: zone_" + n + ", timeframes: all}\n")
	}
	yaml := "name: wide\nversion: \"3.0\"\ntraining_data:\n  symbols: {mode: single, symbol: AAA}\n  timeframes: {mode: single, timeframe: 1m}\n" +
		"indicators:\n" + indicators.String() + "fuzzy_sets:\n" + sets.String() + "nn_inputs:\n" + inputs.String() +
		"model: {type: mlp, architecture: {hidden_layers: [64, 32], dropout: 0.2}}\n" +
		"decisions: {output_format: classification}\n" +
		"training:\n  labels: {source: triple_barrier, compute_weights: true}\n  epochs: 1\n  batch_size: 256\n"
	s, _, err := strategy.Parse([]byte(yaml), "wide.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

const childVariable = "KTRDR_TRAIN_MILLION"

// TestMillionBars is the child of BenchmarkMillionBars: one training epoch on a
// million bars of 40 features, in a process of its own.
func TestMillionBars(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		return // it is run by BenchmarkMillionBars
	}
	s := wide(t)
	bars := market.Synth(market.SynthConfig{Symbol: "AAA", Timeframe: market.M1, Bars: 1_000_000, Seed: 1})
	ds, _, err := train.Prepare(s, []train.Series{{Symbol: "AAA", Bars: []*market.Bars{bars}}}, train.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := train.Start(ds, s, 1, neural.Best())
	if err != nil {
		t.Fatal(err)
	}
	carry(t, r, -1)
	finish(t, r)
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Skipf("the peak of memory is not known here: %v", err)
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == "VmHWM:" {
			t.Logf("peak %s kB", fields[1])
		}
	}
}

// BenchmarkMillionBars measures the peak memory and the CPU time of preparing
// and training 1,000,000 bars of 40 features for one epoch.
func BenchmarkMillionBars(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		cmd := exec.CommandContext(b.Context(), self, "-test.run=^TestMillionBars$", "-test.v")
		cmd.Env = append(os.Environ(), childVariable+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			b.Fatalf("%v\n%s", err, out)
		}
		_, peak, found := strings.Cut(string(out), "peak ")
		if !found {
			b.Skip("the peak of memory is not known here")
		}
		kb, err := strconv.ParseFloat(strings.Fields(peak)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(kb/1024, "peak-MB")
		b.ReportMetric(cmd.ProcessState.UserTime().Seconds()+cmd.ProcessState.SystemTime().Seconds(), "cpu-s")
	}
}
