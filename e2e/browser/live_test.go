package browser

import (
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

func TestPage_RecoversWithoutAReloadWhenItsBackendIsKilled(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	backend := s.ServeWith(2, withAuth)
	s.signIn()
	s.must("research", "mean reversion on EURUSD 1h", "--count", "2", "--follow")
	s.until("both researches are on the page", `document.querySelectorAll("table.lead tbody tr").length === 2`, 20*time.Second)
	eval[int](s.browser, `window.loaded = 1`)
	before := s.text("table.lead tbody")
	s.clean("before the kill")

	s.away(true)
	backend.Kill()
	s.says("Server unreachable", 15*time.Second)
	if now := s.text("table.lead tbody"); now != before {
		t.Errorf("without a server the page shows\n%s\nand not what it showed:\n%s", now, before)
	}
	s.ServeWith(2, withAuth)
	s.says("Server restarted", 30*time.Second)
	s.away(false)
	s.until("the page is the same one", `window.loaded === 1 && !document.body.classList.contains("lost")`, 5*time.Second)
	if now := s.text("table.lead tbody"); now != before {
		t.Errorf("after the restart the page shows\n%s\nand not what it showed:\n%s", now, before)
	}
	s.clean("after the restart")
}

func TestPage_TenTabsStayLive(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	tabs := []*browser{s.browser}
	for len(tabs) < 10 {
		other := s.tab()
		other.open(s.url + "/night")
		tabs = append(tabs, other)
	}
	s.must("research", "momentum on EURUSD 1h", "--follow")
	for i, tab := range tabs {
		if _, err := chromedp.Call(tab.ctx, page.BringToFront, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		tab.until("the research is on the page", `document.querySelectorAll("table.lead tbody tr").length === 1`, 15*time.Second)
		tab.until("the tab is live", `document.querySelector("#live span").textContent === "Live"`, 5*time.Second)
		tab.clean("tab " + string(rune('0'+i)))
	}
}
