package browser

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/ktrdr/ktrdr/market"
)

// slowly makes every phase last long enough to be seen, one kind of goal fail in its
// training and another one last until it is cancelled.
const slowly = "KTRDR_INJECT=delay=1500ms:designing:slow,delay=1500ms:training:slow,delay=1500ms:backtesting:slow," +
	"delay=1500ms:assessing:slow,fail:training:breaks,hang:backtesting:stays"

// fill types into a field of a form.
func (b *browser) fill(selector, text string) {
	b.t.Helper()
	b.until("there is "+selector, fmt.Sprintf("document.querySelector(%q)", selector))
	const set = `((e) => { e.value = %q; return e.dispatchEvent(new Event("input", { bubbles: true })) })(document.querySelector(%q))`
	eval[bool](b, fmt.Sprintf(set, text, selector))
}

// start starts a research by the form and returns to where it leads.
func (s *site) start(goal string) {
	s.t.Helper()
	s.open(s.url + "/new")
	s.fill("#goal", goal)
	eval[bool](s.browser, `document.querySelector("[name=bypass]").checked = true`) // a gate may stop some designs
	s.until("the goal is understood", `document.querySelector("#understood")?.innerText.includes("Understood")`)
	eval[bool](s.browser, `document.querySelector("#start-go").click() ?? true`)
	s.until("the run is shown", `location.pathname === "/night" && location.search.includes("run=")`)
}

func TestPage_AResearchIsStartedWatchedOpenedAndCompared(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth, slowly)
	s.signIn()
	s.start("slow mean reversion on EURUSD 1h")
	eval[int](s.browser, `(window.seen = new Set(), setInterval(() => {
		for (const cell of document.querySelectorAll("#running tbody td:nth-child(3)")) seen.add(cell.innerText.trim().split(" ")[0]);
	}, 50))`)
	s.until("the research has ended", `document.querySelectorAll("#leaders tbody tr").length === 1`)
	seen := strings.Fields(eval[string](s.browser, `[...seen].join(" ")`))
	for _, phase := range []string{"Designing", "Training", "Backtesting", "Assessing"} {
		if !strings.Contains(strings.Join(seen, " "), phase) {
			t.Errorf("the page showed %v while the research ran, and never %s", seen, phase)
		}
	}
	s.clean("watching a research")

	eval[bool](s.browser, `document.querySelector("#leaders tbody a.go").click() ?? true`)
	s.until("the strategy is shown", `location.pathname.startsWith("/strategies/") && document.querySelector("h1")`)
	for _, section := range []string{"Equity", "Trades", "Timeline"} {
		s.says(section)
	}
	s.clean("the page of a strategy")

	s.start("momentum on EURUSD 1h")
	s.open(s.url + "/strategies")
	s.until("both are listed", `document.querySelectorAll("table.lead tbody tr").length === 2`)
	eval[bool](s.browser, `document.querySelectorAll("table.lead tbody input[type=checkbox]").forEach((e) => e.click()) ?? true`)
	s.press("Compare selected")
	s.until("they are compared", `location.pathname === "/compare" && document.querySelectorAll("main svg").length > 0`)
	s.says("Correlation")
	s.clean("comparing two")
}

func TestPage_AResearchIsCancelledAndAFailedOneResumed(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	backend := s.ServeWith(2, withAuth, slowly)
	s.signIn()
	s.start("momentum that stays on EURUSD 1h")
	s.until("it is backtested", `document.querySelector("#running")?.innerText.includes("Backtesting")`)
	eval[bool](s.browser, `(window.confirm = () => true, true)`)
	eval[bool](s.browser, `[...document.querySelectorAll("#running button")].find((e) => e.innerText === "Cancel").click() ?? true`)
	s.until("it is cancelled", `!document.querySelector("#running")?.innerText.includes("Backtesting")`)
	if out := s.must("ops", "--status", "cancelled"); !strings.Contains(out, "agent_research") {
		t.Errorf("no research is cancelled:\n%s", out)
	}
	s.clean("cancelling")

	s.start("trend that breaks on EURUSD 1h")
	s.open(s.url + "/night")
	s.until("it needs a person", `document.querySelector("#needs")?.innerText.includes("failed")`)
	s.away(true)
	backend.Kill()
	s.ServeWith(2, withAuth) // without what made it fail
	s.until("the page is live again", `!document.body.classList.contains("lost")`)
	s.away(false)
	eval[bool](s.browser, `[...document.querySelectorAll("#needs button")].find((e) => e.innerText.startsWith("Resume")).click() ?? true`)
	s.until("it is resumed and ends", `document.querySelectorAll("#leaders tbody tr").length === 1`)
	s.clean("resuming")
}

func TestPage_ABreakerIsResetWithNameAndReason(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(1, withAuth, "KTRDR_MODELS=local/m", "KTRDR_PROVIDERS=local=http://127.0.0.1:1/none", "KTRDR_MODEL_PRICES=local/m=1/5")
	s.signIn()
	// Its calls fail, and the breaker opens.
	s.must("research", "momentum on EURUSD 1h", "--count", "4", "--model", "local/m", "--seed", "2", "--follow")
	s.open(s.url + "/operations#breakers")
	s.until("the breaker is open", `/provider:local\s+open/.test(document.querySelector("#breakers")?.innerText ?? "")`)
	eval[bool](s.browser, `document.querySelector("#breakers td a.btn").click() ?? true`)
	s.fill("#decide input[name=by]", "Ada")
	s.fill("#decide input[name=why]", "the model server was restarted")
	s.press("Save decision")
	s.until("the history names who and why",
		`document.querySelector("#breakers")?.innerText.includes("the model server was restarted, by Ada")`)
	s.clean("resetting a breaker")
}

func TestPage_AFileIsImportedByUpload(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(1, withAuth)
	s.signIn()
	file := filepath.Join(t.TempDir(), "GBPUSD_1h.csv")
	text := "timestamp,open,high,low,close,volume\n"
	bars := market.Synth(market.SynthConfig{Symbol: "GBPUSD", Timeframe: market.H1, Bars: 500, Seed: 9})
	for i := range bars.Len() {
		x := bars.At(i)
		text += fmt.Sprintf("%s,%g,%g,%g,%g,%g\n", time.Unix(x.Time, 0).UTC().Format(time.RFC3339), x.Open, x.High, x.Low, x.Close, x.Volume)
	}
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s.open(s.url + "/data/import")
	s.do("choose the file", chromedp.SetUploadFiles("input[type=file]", []string{file}))
	s.press("Check the file")
	s.until("the dry run is shown", `document.querySelector("#import-now")`)
	if out := s.must("data", "list"); strings.Contains(out, "GBPUSD") {
		t.Errorf("the dry run stored the series:\n%s", out)
	}
	s.press("Import")
	s.says("imported.") // leaving the page earlier could end the request
	s.open(s.url + "/data")
	s.until("the catalogue lists it", `document.body.innerText.includes("GBPUSD")`)
	s.clean("importing")
}
