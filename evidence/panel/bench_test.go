//go:build unix

package panel

import (
	"syscall"
	"testing"
	"time"
)

// nineYears is 1,000 trials on nine years of daily returns.
func nineYears() *Panel { return made(9*260, 0.3, 0.05, make([]float64, 1000), 1) }

// limit is what the judgement of nineYears may take on one core.
const limit = 10 * time.Second

// BenchmarkJudge judges 1,000 trials on nine years of daily returns: SPA and StepM
// with 1,000 resamples, PBO with 12,870 splits, effective number of trials.
//
//	go test ./evidence/panel -bench Judge -run '^$' -cpu 1
func BenchmarkJudge(b *testing.B) {
	p := nineYears()
	began := busy(b)
	for b.Loop() {
		Judge(p, Options{Seed: 1})
	}
	took := (busy(b) - began).Seconds() / float64(b.N)
	b.ReportMetric(took, "cpu-s/panel")
	b.ReportMetric(took/limit.Seconds(), "of-10-s")
}

// busy is the processor time that the test has used.
func busy(t testing.TB) time.Duration {
	t.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
