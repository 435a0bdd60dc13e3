//go:build unix

// Package compute prints what the compute packages do, in one run: ratios to
// something that runs beside them in the same minutes, since absolute times
// wander with the machine and its load.
package compute

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/neural"
)

// BenchmarkCompute prints the table.
func BenchmarkCompute(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	fmt.Printf("== Compute on %s; best of several rounds, CPU time of this process\n", neural.Best())
	load(b)
	training(b)
	jobs(b)
	indicators(b)
	rules(b)
	cache(b)
	memory(b)
	load(b)
}

// load prints how busy the machine is, where it tells: no figure is better than
// what the others leave of it.
func load(b *testing.B) {
	b.Helper()
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return
	}
	line("load of the machine", "%s, while one FMA loop reaches %.0f GFLOP/s", strings.Join(strings.Fields(string(text))[:3], " "),
		peak(neural.Best())/1e9)
}

// line prints one figure.
func line(what, format string, args ...any) {
	fmt.Printf("%-33s"+format+"\n", append([]any{what}, args...)...)
}

func aim(met bool, what string) string {
	if met {
		return "   aim " + what + ": met"
	}
	return "   aim " + what + ": NOT met"
}

// cpu is what this process has used of the CPUs so far, all threads.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// best runs functions in turns, so that all meet the same machine, and returns
// the least CPU time of each.
func best(rounds int, fs ...func()) []time.Duration {
	least := make([]time.Duration, len(fs))
	for round := range rounds {
		for i, f := range fs {
			start := cpu()
			f()
			if took := cpu() - start; round == 0 || took < least[i] {
				least[i] = took
			}
		}
	}
	return least
}

// peak is the best rate of floating-point operations that a kernel's registers
// allow.
func peak(k neural.Kernel) float64 {
	const rounds = 2_000_000
	operations := 0
	took := best(5, func() { operations = k.Peak(rounds) })[0]
	return float64(operations) / took.Seconds()
}

func check(b *testing.B, err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}
