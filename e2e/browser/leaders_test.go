package browser

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/chromedp/chromedp"

	"github.com/ktrdr/ktrdr/report"
)

func basisPoints(v *float64) *float64 {
	if v == nil {
		return nil
	}
	return new(*v * 1e4)
}

func checksOf(d *report.LeaderDetails) string {
	if d.Checks == 0 {
		return "–"
	}
	return fmt.Sprintf("%d of %d", d.Passed, d.Checks)
}

// sortsByItsHeads clicks the head of a column twice: first the best, then the
// worst row comes first, and the URL says so.
func (s *site) sortsByItsHeads() {
	s.t.Helper()
	const sorted = `(() => { const th = document.querySelector("table.lead th[aria-sort]");
		return [th.querySelector("a").innerText, th.ariaSort, new URLSearchParams(location.search)].join(", ") })()`
	click := func() {
		eval[bool](s.browser, `[...document.querySelectorAll("table.lead thead a")]
			.find((a) => a.innerText.startsWith("Return")).click() ?? true`)
	}
	s.until("the board is sorted by verdict", sorted+` === "Verdict ↓, descending, "`)
	click()
	s.until("the highest return comes first", sorted+` === "Return ↓, descending, sort=return"`)
	click()
	s.until("the lowest return comes first", sorted+` === "Return ↑, ascending, reverse=true&sort=return"`)
	returns := eval[string](s.browser, `JSON.stringify([...document.querySelectorAll("table.lead tbody tr")]
		.map((tr) => parseFloat(tr.cells[9].innerText.replace("−", "-"))).filter((v) => !isNaN(v)))`)
	var list []float64
	if err := json.Unmarshal([]byte(returns), &list); err != nil || len(list) < 2 || !slices.IsSorted(list) {
		s.t.Errorf("the returns are %s, want the lowest first: %v", returns, err)
	}
	s.clean("sorting")
}

// fitsAPhone checks that a row of the leaderboard has at most three lines on a
// phone, with its name in sight.
func (s *site) fitsAPhone() {
	s.t.Helper()
	s.do("size", chromedp.EmulateViewport(390, 900))
	const lines = 3*19 + 10
	if got := eval[string](s.browser, `[...document.querySelectorAll("table.lead tbody tr")].map((tr) => {
		const link = tr.querySelector("a.go").getBoundingClientRect();
		return link.left >= 0 && link.right <= 390 && link.width > 20 ? tr.offsetHeight : 999 }).sort((a, b) => b - a)[0] + "," +
		(document.querySelector("#leaders .tw").scrollWidth - document.querySelector("#leaders .tw").clientWidth)`); got != "" {
		var height, beyond int
		if _, err := fmt.Sscanf(got, "%d,%d", &height, &beyond); err != nil || height > lines || beyond > 0 {
			s.t.Errorf("on a phone a row is %d px high, want at most %d, and %d px are out of sight: %v", height, lines, beyond, err)
		}
	}
	s.do("size", chromedp.EmulateViewport(1440, 900))
}
