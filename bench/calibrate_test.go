package bench_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

var calibrated = flag.Int("worlds", 8, "copies that BenchmarkCalibrate searches; the aim is for 99")

// BenchmarkCalibrate prints what `ktrdr calibrate` costs through the built binary: a
// backend, two workers with one slot each, and copies of 20,000 bars that are searched
// with 8 researches each. Beside it stand plain runs of 8 researches on as many bars, in
// the same installation. The time of 99 copies is projected from fewer:
//
//	go test -run '^$' -bench Calibrate -benchtime 1x ./bench
//	go test -run '^$' -bench Calibrate -benchtime 1x -timeout 2h ./bench -worlds 99
func BenchmarkCalibrate(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	const all, researches, bars, holdout, runs = 99, 8, 20_000, 0.2, 8
	in := install(b)
	defer in.stop()
	in.synth("COPIED", int(bars/(1-holdout)), 5) // what is left before the holdout is copied
	in.synth("PLAIN", bars, 6)
	in.serve("--workers", "0")
	for i := range 2 {
		in.begin("worker", "--types", "training,backtesting", "--slots", "1", "--data", filepath.Join(in.dir, fmt.Sprint("worker", i)))
	}
	search := in.cost(func() {
		for seed := range uint64(runs) {
			in.search("PLAIN", researches, seed)
		}
	})
	var result research.Calibration
	copies := in.cost(func() { result = in.calibrate("COPIED", *calibrated, researches) })
	if result.Bars < bars || result.Worlds != *calibrated || len(result.Sharpes) == 0 {
		b.Fatalf("%d copies of %d bars, and a research was judged in %d: %s", result.Worlds, result.Bars, len(result.Sharpes), result.Summary)
	}

	n := float64(*calibrated)
	byClock, byProcessor := all*copies.clock.Minutes()/n, all*copies.used.Minutes()/n/2
	fmt.Printf("calibrate: %d copies of %d bars  %8.1f s and %.2f processor-seconds each, on 2 workers%s\n", *calibrated, result.Bars,
		copies.clock.Seconds()/n, copies.used.Seconds()/n, in.load())
	fmt.Printf("%d runs of %d researches           %8.1f s and %.2f processor-seconds each; a copy costs %.2f x as much processor time\n",
		runs, researches, search.clock.Seconds()/runs, search.used.Seconds()/runs, copies.used.Seconds()/n*runs/search.used.Seconds())
	fmt.Printf("%d copies on two cores           %8.1f minutes by the clock, %.1f by processor time%s\n", all, byClock, byProcessor,
		bench.Aim(byClock <= 20, "<= 20 minutes by the clock"))
}

// synth makes up a market without an edge.
func (in *installation) synth(symbol string, bars, seed int) {
	in.b.Helper()
	in.run("data", "synth", "--symbol", symbol, "--timeframe", "1h", "--bars", fmt.Sprint(bars), "--seed", fmt.Sprint(seed))
}

// cost is what some work took: by the clock, and of the processors in all processes.
type cost struct{ clock, used time.Duration }

// cost does some work.
func (in *installation) cost(work func()) (c cost) {
	in.b.Helper()
	begun, before := time.Now(), in.processors()
	work()
	return cost{time.Since(begun), in.processors() - before}
}

// search makes a plain run of researches on a market.
func (in *installation) search(symbol string, researches int, seed uint64) {
	in.b.Helper()
	made, err := in.client.Trigger(in.b.Context(), research.Request{
		Symbols: []string{symbol}, Timeframe: "1h", Count: researches, Seed: &seed, Fresh: true, Force: true, Model: research.Builtin,
	}, "")
	if err != nil || len(made.Operations) != researches {
		in.b.Fatalf("%d researches: %d created, %v", researches, len(made.Operations), err)
	}
	labtest.Eventually(in.b, 30*time.Minute, "the plain run", func() bool {
		run, err := in.client.Run(in.b.Context(), made.Run)
		if err != nil {
			in.b.Fatal(err)
		}
		return !run.EndedAt.IsZero()
	})
}

// calibrate makes a calibration and returns its result.
func (in *installation) calibrate(symbol string, worlds, researches int) research.Calibration {
	in.b.Helper()
	begun, err := in.client.StartCalibration(in.b.Context(), research.CalibrationRequest{
		Symbol: symbol, Timeframe: "1h", Worlds: worlds, Researches: researches, Seed: new(uint64(5)),
	}, "")
	if err != nil {
		in.b.Fatal(err)
	}
	var op ktrdr.Operation
	labtest.Eventually(in.b, 3*time.Hour, "the calibration", func() bool {
		if op, err = in.client.Operation(in.b.Context(), begun.Operation); err != nil {
			in.b.Fatal(err)
		}
		return op.Status.Terminal()
	})
	rows, err := in.client.Calibrations(in.b.Context(), symbol)
	if op.Status != ktrdr.Completed || err != nil || len(rows) != 1 {
		in.b.Fatalf("the calibration ended %s (%s); %d are listed, %v", op.Status, op.ErrorMessage, len(rows), err)
	}
	return rows[0].Calibration
}

// processors is the processor time that the processes have used.
func (in *installation) processors() time.Duration {
	in.b.Helper()
	const user, system, ticks = 11, 12, 100 // fields after the name in parentheses; ticks of a second
	sum := 0
	for _, p := range in.processes {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
		if err != nil {
			in.b.Fatal(err)
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, i := range []int{user, system} {
			n, err := strconv.Atoi(fields[i])
			if err != nil {
				in.b.Fatal(err)
			}
			sum += n
		}
	}
	return time.Duration(sum) * time.Second / ticks
}

// load says how busy the machine is with everything.
func (in *installation) load() string {
	in.b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (load of the machine in the last minute: %s)", strings.Fields(string(text))[0])
}
