package bench_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/bench"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// BenchmarkQueuedResearches prints what a line of researches costs the backend
// while two workers work it off: the time to create them with one request, the
// time of a status, and memory: with a short line and with a long one, and when
// the long one has been worked off.
func BenchmarkQueuedResearches(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	var memory []int
	for _, n := range []int{100, 1000} {
		in := install(b)
		in.run("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "1500", "--seed", "7")
		in.serve("--workers", "0")
		for i := range 2 {
			in.begin("worker", "--types", "training,backtesting", "--data", filepath.Join(in.dir, fmt.Sprint("worker", i)))
		}
		most := in.queue(n)
		if memory = append(memory, most); n == 1000 {
			in.workOff(n, most)
		}
		in.stop()
	}
	fmt.Printf("memory of the backend            %.2f x with ten times as many queued%s\n",
		float64(memory[1])/float64(memory[0]), bench.Aim(memory[1] <= 2*memory[0], "<= 2 x"))
}

// queue starts n researches and measures the backend while they are worked off.
func (in *installation) queue(n int) (kb int) {
	in.b.Helper()
	begun := time.Now()
	made, err := in.client.Trigger(in.b.Context(), research.Request{Brief: "simple", Count: n, Seed: new(uint64(1))}, "")
	if err != nil || len(made.Operations) != n {
		in.b.Fatalf("%d researches: %d created, %v", n, len(made.Operations), err)
	}
	trigger := time.Since(begun)
	var times []time.Duration
	for range 200 {
		begun := time.Now()
		in.get("/api/v1/agent/status")
		times = append(times, time.Since(begun))
		kb = max(kb, in.memory())
		<-time.After(10 * time.Millisecond)
	}
	slices.Sort(times)
	p99 := times[len(times)*99/100]
	fmt.Printf("%4d researches queued            created in %v; status p50 %v, p99 %v; %d MB anonymous memory at most%s\n", n,
		trigger.Round(time.Millisecond),
		times[len(times)/2].Round(time.Microsecond), p99.Round(time.Microsecond), kb>>10, bench.Aim(p99 <= 50*time.Millisecond, "p99 <= 50ms"))
	return kb
}

// workOff waits for a line of n to end and prints whether the backend keeps
// something of each: the most memory while the first fifth of them ended, and
// while the last did.
func (in *installation) workOff(n, early int) {
	in.b.Helper()
	begun, late := time.Now(), 0
	for ended := 0; ended < n; <-time.After(50 * time.Millisecond) {
		st, err := in.client.ResearchStatus(in.b.Context())
		if err != nil {
			in.b.Fatal(err)
		}
		if time.Since(begun) > 10*time.Minute {
			in.b.Fatalf("after ten minutes %d researches have ended, not %d", ended, n)
		}
		ended = n - st.Capacity.Waiting - st.Capacity.Active
		switch kb := in.memory(); {
		case ended <= n/5:
			early = max(early, kb)
		case ended > n-n/5:
			late = max(late, kb)
		}
	}
	fmt.Printf("memory of the backend            %d MB at most while the first %d ended, %d MB while the last %d did, "+
		"after %.0f s: %.2f x%s\n",
		early>>10, n/5, late>>10, n/5, time.Since(begun).Seconds(), float64(late)/float64(early), bench.Aim(2*late <= 3*early, "<= 1.5 x"))
}

// BenchmarkFirstResearch prints how long it is from the start of the built
// binary to the first research that has come to its verdict. The demo
// prints it within a second.
func BenchmarkFirstResearch(b *testing.B) {
	if b.N > 1 {
		b.Skip("one run tells all")
	}
	begun := time.Now()
	p := labtest.Start(b, labtest.Program{Args: []string{"demo", "--exit"}, Env: labtest.Environment(b, "", labtest.Times{})})
	labtest.Eventually(b, 5*time.Minute, "the first research of the demo", func() bool {
		return !p.Alive() || strings.Contains(p.Out(), string(ktrdr.Completed))
	})
	first := time.Since(begun)
	if code := p.Exit(5 * time.Minute); code != 0 {
		b.Fatalf("the demo ended with exit code %d", code)
	}
	fmt.Printf("start to first finished research %8.1f s, and to all eight of the demo %.1f s%s\n",
		first.Seconds(), time.Since(begun).Seconds(), bench.Aim(first <= 10*time.Second, "<= 10 s"))
}
