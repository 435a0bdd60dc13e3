package browser

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// Benchmarks are run by make bench. A machine that does other work makes them
// slow, so that ratios say more than times.

const (
	fewBars  = 3_000
	manyBars = 1_000_000
)

// BenchmarkPage_Strategy prints what the page of a strategy costs a browser
// with an empty cache: until something is painted, and bytes of the page and all
// that it loads. Then the equity is zoomed into, and the detail has to come. Each
// is for a strategy of few bars, and beside it for one of a million.
func BenchmarkPage_Strategy(b *testing.B) {
	few := strategyOf(b, fewBars)
	many := strategyOf(b, manyBars)
	var all [2][]painted
	for b.Loop() {
		all[0] = append(all[0], few.paint())
		all[1] = append(all[1], many.paint())
	}
	short, long := middlePaint(all[0]), middlePaint(all[1])
	b.ReportMetric(long.Paint, "ms/first-paint")
	b.ReportMetric(long.Paint/short.Paint, "x/first-paint-of-few-bars")
	b.ReportMetric(long.Server, "ms/server")
	b.ReportMetric(long.Bytes/1000, "kB/page")
	b.ReportMetric(long.Detail, "ms/detail")
	b.ReportMetric(long.Detail/short.Detail, "x/detail-of-few-bars")
	b.ReportMetric(0, "ns/op")
}

// painted is how a page was loaded: milliseconds and bytes.
type painted struct {
	Paint  float64 `json:"paint"`
	Server float64 `json:"server"` // until the last byte of the page itself
	Bytes  float64 `json:"bytes"`
	Detail float64 `json:"detail"` // from a click on Zoom in until its figures have come
}

// middlePaint is the median of each figure.
func middlePaint(all []painted) painted {
	middle := func(of func(painted) float64) float64 {
		values := make([]float64, 0, len(all))
		for _, p := range all {
			values = append(values, of(p))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	return painted{
		Paint: middle(func(p painted) float64 { return p.Paint }), Server: middle(func(p painted) float64 { return p.Server }),
		Bytes: middle(func(p painted) float64 { return p.Bytes }), Detail: middle(func(p painted) float64 { return p.Detail }),
	}
}

// strategyPage is a browser and the address of a strategy.
type strategyPage struct {
	*site
	at string
}

// strategyOf researches a market of n bars of a minute.
func strategyOf(b *testing.B, n int) strategyPage {
	b.Helper()
	s := siteOf(b, labtest.New(b, labtest.SQLite, labtest.Calm))
	s.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1m", "--bars", fmt.Sprint(n), "--seed", "7")
	s.ServeWith(2)
	made, err := s.Client().Trigger(b.Context(), research.Request{Brief: "momentum on EURUSD 1m", Count: 1, Seed: new(uint64(7))}, "")
	if err != nil {
		b.Fatal(err)
	}
	id := made.Operations[0].Operation
	labtest.Eventually(b, 5*time.Minute, "the research has ended", func() bool {
		op, err := s.Client().Operation(b.Context(), id)
		return err == nil && op.Status.Terminal()
	})
	s.open(s.url + "/night")
	s.needCharts()
	if _, err := chromedp.Call(s.ctx, network.SetCacheDisabled, network.SetCacheDisabledParams{CacheDisabled: true}); err != nil {
		b.Fatal(err)
	}
	return strategyPage{s, s.url + "/strategies/" + string(id)}
}

// paint loads the page and zooms into its equity.
func (s strategyPage) paint() painted {
	s.t.Helper()
	s.open(s.at)
	s.until("something is painted", `performance.getEntriesByName("first-contentful-paint").length`)
	p := eval[painted](s.browser, `(() => {
  const page = performance.getEntriesByType("navigation")[0], more = performance.getEntriesByType("resource");
  return {
    paint: performance.getEntriesByName("first-contentful-paint")[0].startTime, server: page.responseEnd - page.requestStart,
    bytes: page.transferSize + more.reduce((sum, r) => sum + r.transferSize, 0),
  };
})()`)
	eval[bool](s.browser, `(document.querySelector("#equity").scrollIntoView(), true)`)
	s.until("the equity zooms", `document.querySelector("#equity .zbar [aria-label='Zoom in']")`)
	p.Detail = eval[float64](s.browser, `new Promise((done) => {
  const begun = performance.now();
  new PerformanceObserver((list) => {
    const came = list.getEntries().find((r) => r.name.includes("equity.json?from="));
    if (came) done(came.responseEnd - begun);
  }).observe({ type: "resource" });
  const click = () => document.querySelector("#equity .zbar [aria-label='Zoom in']").click();
  click();
  requestAnimationFrame(click);
})`)
	return p
}

const (
	eventsPerSecond = 200
	watched         = 10 * time.Second
)

// BenchmarkPage_ManyEvents prints the longest time between two frames of a page
// while nothing happens, and while a backend commits 200 events a second.
func BenchmarkPage_ManyEvents(b *testing.B) {
	s := openSite(b)
	s.ServeWith(0)
	for _, path := range []string{"/night", "/operations"} {
		b.Run(path[1:], func(b *testing.B) {
			s.open(s.url + path)
			s.until("the page is live", `document.querySelector("#live span").textContent === "Live"`)
			for b.Loop() {
				quiet := s.frames()
				made, stop := s.emit()
				busy := s.frames()
				stop()
				b.ReportMetric(float64(made.Load())/watched.Seconds(), "events/s")
				b.ReportMetric(busy.Gap, "ms/longest-gap")
				b.ReportMetric(busy.Gap/quiet.Gap, "x/longest-gap-of-a-quiet-page")
				b.ReportMetric(busy.Task, "ms/longest-task")
				b.ReportMetric(float64(busy.Frames)/float64(quiet.Frames), "x/frames-of-a-quiet-page")
				b.ReportMetric(busy.Asked, "refreshes")
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// watchedFrames is how a page moved for a while.
type watchedFrames struct {
	Gap    float64 `json:"gap"`  // the longest between two frames, in milliseconds
	Task   float64 `json:"task"` // the longest of more than 50 ms
	Frames int     `json:"frames"`
	Asked  float64 `json:"asked"` // requests for what changed
}

func (s *site) frames() watchedFrames {
	s.t.Helper()
	return eval[watchedFrames](s.browser, fmt.Sprintf(`new Promise((done) => {
  const seen = { gap: 0, task: 0, frames: 0, asked: 0 }, until = performance.now() + %d;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) seen.task = Math.max(seen.task, task.duration);
  }).observe({ type: "longtask" });
  new PerformanceObserver((list) => (seen.asked += list.getEntries().length)).observe({ type: "resource" });
  let last = performance.now();
  const frame = () => {
    const now = performance.now();
    seen.gap = Math.max(seen.gap, now - last);
    seen.frames++;
    last = now;
    if (now < until) requestAnimationFrame(frame);
    else done(seen);
  };
  requestAnimationFrame(frame);
})`, watched.Milliseconds()))
}

// emit creates operations that no worker takes, each of which is an event, until
// it is stopped.
func (s *site) emit() (made *atomic.Int64, stop func()) {
	s.t.Helper()
	made, ended := new(atomic.Int64), make(chan struct{})
	tick := time.NewTicker(time.Second / eventsPerSecond)
	var crew sync.WaitGroup
	for range 32 { // a commit takes a while, and several share one
		crew.Go(func() {
			for {
				select {
				case <-ended:
					return
				case <-tick.C:
				}
				if _, err := s.TrySubmit(dummy.Spec{Steps: 1}, ""); err == nil {
					made.Add(1)
				}
			}
		})
	}
	return made, func() {
		tick.Stop()
		close(ended)
		crew.Wait()
	}
}
