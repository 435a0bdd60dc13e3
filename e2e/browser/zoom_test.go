package browser

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

func TestPage_ChartsZoomAndLoadDetail(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	s.needCharts()
	s.must("research", "momentum on EURUSD 1h", "--count", "4", "--seed", "2", "--follow")
	s.openTraded()

	for section, is := range map[string]struct{ button, asks string }{
		"#equity": {"Zoom in", "equity.json?from="}, "#candles": {"Zoom out", "bars.json?"},
	} {
		// Sections above it that load later move it, so it is brought into view until it is drawn.
		drawn := fmt.Sprintf("document.querySelector('%[1]s').scrollIntoView(), document.querySelector('%[1]s .zoom canvas')", section)
		s.until("a canvas in "+section, drawn)
		s.until("the figure makes room", fmt.Sprintf("document.querySelector('%s [data-zoom] > .ch').hidden", section))
		if label := eval[string](s.browser, fmt.Sprintf("document.querySelector('%s .zoom[role=img]').ariaLabel", section)); len(label) < 20 {
			t.Errorf("the chart of %s is called %q", section, label)
		}
		requests := fmt.Sprintf("performance.getEntriesByType('resource').filter((r) => r.name.includes(%q)).length", is.asks)
		before := eval[int](s.browser, requests)
		for range 2 { // a chart draws in the next frame
			time.Sleep(200 * time.Millisecond)
			eval[bool](s.browser, fmt.Sprintf("(document.querySelector('%s .zbar [aria-label=%q]').click(), true)", section, is.button))
		}
		s.until("detail is asked for in "+section, fmt.Sprintf("%s > %d", requests, before))
	}
	eval[bool](s.browser, watchPolicy)
	time.Sleep(500 * time.Millisecond) // the answers are drawn
	if refused := eval[[]string](s.browser, "refused"); len(refused) > 0 {
		t.Errorf("the policy of the page refused %v", refused)
	}
	s.clean("the charts that zoom")
}

// watchPolicy collects what the Content-Security-Policy refuses from the opening of
// the page on.
const watchPolicy = `(window.refused = [], new ReportingObserver(
  (list) => refused.push(...list.map((r) => r.body.effectiveDirective + " " + r.body.blockedURL)),
  { types: ["csp-violation"], buffered: true },
).observe(), true)`

// needCharts skips a test of a program that was built without npm.
func (s *site) needCharts() {
	s.t.Helper()
	if !eval[bool](s.browser, `document.body.innerText.includes("Built without zoomable charts")`) {
		return
	}
	const missing = "the program was built without zoomable charts: run make assets first"
	if os.Getenv(pgtest.Require) == "all" {
		s.t.Fatal(missing)
	}
	s.t.Skip(missing)
}

// openTraded opens the page of a strategy that has traded.
func (s *site) openTraded() {
	s.t.Helper()
	s.open(s.url + "/strategies")
	s.until("the strategies are there", `document.querySelectorAll("table.lead tbody a.go").length > 0`)
	for _, at := range eval[[]string](s.browser, `[...document.querySelectorAll("table.lead tbody a.go")].map((a) => a.href)`) {
		s.open(at)
		if eval[bool](s.browser, `!!document.querySelector("#candles") && !!document.querySelector("#equity [data-zoom]")`) {
			return
		}
	}
	s.t.Fatal("no strategy has traded on more than 400 bars")
}
