package browser

import (
	"encoding/json"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

func TestPage_RecoversWithoutAReloadWhenItsBackendIsKilled(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	backend := s.ServeWith(2, withAuth)
	s.signIn()
	s.must("research", "mean reversion on EURUSD 1h", "--count", "2", "--seed", "2", "--follow")
	s.until("both researches are on the page", `document.querySelectorAll("table.lead tbody tr").length === 2`)
	s.until("the look is on the page", `document.querySelector("table.lead").innerText.includes("holdout p")`)
	eval[int](s.browser, `window.loaded = 1`)
	before := s.text("table.lead tbody")
	s.clean("before the kill")

	s.away(true)
	backend.Kill()
	s.says("Server unreachable")
	if now := s.text("table.lead tbody"); now != before {
		t.Errorf("without a server the page shows\n%s\nand not what it showed:\n%s", now, before)
	}
	s.ServeWith(2, withAuth)
	s.says("Server restarted")
	s.says("0 researches ended meanwhile. 0 researches are running.")
	s.away(false)
	s.until("the page is the same one", `window.loaded === 1 && !document.body.classList.contains("lost")`)
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
	s.must("research", "momentum on EURUSD 1h", "--seed", "2", "--follow")
	for i, tab := range tabs {
		if _, err := chromedp.Call(tab.ctx, page.BringToFront, cdp.Empty{}); err != nil {
			t.Fatal(err)
		}
		tab.until("the research is on the page", `document.querySelectorAll("table.lead tbody tr").length === 1`)
		tab.until("the tab is live", `document.querySelector("#live span").textContent === "Live"`)
		tab.clean("tab " + string(rune('0'+i)))
	}
}

// The stream is open already when a reader goes to another page. What happens while
// that page is loaded is told to the page before, so the new one asks.
func TestPage_AsksForWhatHappenedWhileItWasLoaded(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(1, withAuth)
	s.signIn()
	s.tab().open(s.url + "/night") // it keeps the stream open
	s.until("the stream is open", `document.querySelector("#live span").textContent === "Live"`)
	s.open(s.url + "/night")
	s.until("the page asks once more", `performance.getEntriesByType("resource").some((r) => r.name === location.href)`)
	s.clean("asking once more")
}

func TestPage_ARevokedTokenLeadsToTheLogin(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(1, withAuth)
	s.signIn()
	s.until("the page is live", `document.querySelector("#live span").textContent === "Live"`)
	var tokens []struct {
		ID string `json:"token_id"`
	}
	if err := json.Unmarshal([]byte(s.must("token", "list", "--json")), &tokens); err != nil || len(tokens) != 1 {
		t.Fatalf("the tokens are %v, %v", tokens, err)
	}
	s.must("token", "create", "another", "--scope", "admin")
	s.away(true) // its stream is refused
	s.must("token", "revoke", tokens[0].ID)
	s.until("the login is shown", `location.pathname === "/login"`)
}

func TestPage_WhatAReaderPointsAtFollowsLater(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	s.must("research", "momentum on EURUSD 1h", "--seed", "2", "--follow")
	s.until("one is listed", `document.querySelectorAll("#leaders tbody tr").length === 1`)
	eval[bool](s.browser, `document.querySelector("#leaders tbody a.go").focus() ?? true`)
	s.must("research", "trend on EURUSD 1h", "--seed", "3", "--follow")
	s.until("another section shows both", `document.querySelector("#funnel").innerText.includes("2")`)
	if n := eval[int](s.browser, `document.querySelectorAll("#leaders tbody tr").length`); n != 1 {
		t.Errorf("the list moved under the reader: %d rows", n)
	}
	eval[bool](s.browser, `document.activeElement.blur() ?? true`)
	s.until("the list follows without another event", `document.querySelectorAll("#leaders tbody tr").length === 2`)
	s.clean("following later")
}
