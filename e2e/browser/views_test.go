package browser

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/sqlstore/pgtest"
)

// images says that the screenshots of docs/images are to be written again.
var images = flag.Bool("images", false, "write screenshots of the main views into docs/images")

// shown are the views of the documentation.
var shown = map[string]string{
	"/night": "night", "/strategies/{id}": "strategy", "/compare": "compare", "/operations": "operations", "/new": "new",
}

func TestPage_EveryViewIsCleanInEveryThemeAndWidth(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	count := "6"
	if *images {
		count = "24"
	}
	s.must("research", "anything on EURUSD 1h", "--count", count, "--seed", "7", "--follow")
	board, err := s.board()
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, 0, 3)
	for _, row := range board.Rows[:3] {
		ids = append(ids, row.Operation.Tail())
	}
	views := map[string]string{
		"/night": "", "/strategies": "", "/strategies/{id}": "/strategies/" + ids[0], "/compare": "/compare?ids=" + strings.Join(ids, ","),
		"/operations": "", "/operations/{id}": "/operations/" + string(board.Rows[0].Operation), "/data": "", "/data/import": "",
		"/data/EURUSD/1h": "", "/new": "/new?goal=mean+reversion+on+EURUSD+1h", "/lab": "", "/lab/memory": "", "/lab/runs": "",
		"/lab/settings": "", "/lab/tokens": "",
	}
	for name, path := range views {
		if path == "" {
			path = name
		}
		s.inEveryLook(name, path, axe)
	}
}

// Views before the first prices, and while a research runs.
func TestPage_TheFirstViewsAreCleanInEveryThemeAndWidth(t *testing.T) {
	t.Parallel()
	axe := axeScript(t)
	l := labtest.New(t, labtest.SQLite, labtest.Quick)
	s := siteOf(t, l)
	s.ServeWith(2, withAuth, slowly)
	s.inEveryLook("the login", "/login", axe)
	s.signIn()
	for _, path := range []string{"/night", "/new", "/strategies", "/operations", "/data"} {
		s.inEveryLook(path+" of an empty lab", path, axe)
	}
	l.Market("EURUSD", 3000, 2)
	s.start("momentum that stays on EURUSD 1h")
	s.until("it is backtested", `document.querySelector("#running")?.innerText.includes("Backtesting")`)
	run := eval[string](s.browser, "location.pathname + location.search")
	s.inEveryLook("a run that is running", run, axe)
	s.look(1440, "light")
	left := func(selector string) float64 {
		return eval[float64](s.browser, fmt.Sprintf("document.querySelector(%q).getBoundingClientRect().left", selector))
	}
	if off := left("h1") - left("#head form"); off != 0 {
		t.Errorf("the heading of a running run stands %v px beside the form above it", off)
	}
}

// inEveryLook opens a view in both widths and themes, and checks what may not be.
func (s *site) inEveryLook(name, path, axe string) {
	s.t.Helper()
	for _, width := range []int64{1440, 390} {
		s.look(width, "light")
		s.open(s.url + path)
		s.until(name+" is loaded", `document.readyState === "complete" && document.querySelector("h1")`)
		eval[chromedp.Void](s.browser, axe)
		for _, theme := range []string{"light", "dark"} {
			where := fmt.Sprintf("%s, %s, %d px", name, theme, width)
			s.look(width, theme)
			if axe != "" {
				s.axe(where)
			}
			if wide := eval[int](s.browser, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				s.t.Errorf("%s: the page is %d px wider than the window", where, wide)
			}
			s.clean(where)
			if file := shown[name]; file != "" && *images && width == 1440 {
				s.shoot(filepath.Join("..", "..", "docs", "images", file+"-"+theme+".png"))
			}
		}
	}
}

// look sets the width of the window and the theme of the system.
func (s *site) look(width int64, theme string) {
	s.t.Helper()
	s.do("size", chromedp.EmulateViewport(width, 900))
	media := emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: theme}}}
	if _, err := chromedp.Call(s.ctx, emulation.SetEmulatedMedia, media); err != nil {
		s.t.Fatal(err)
	}
}

// shoot writes a screenshot of what the window shows.
func (s *site) shoot(file string) {
	s.t.Helper()
	s.until("later sections are there", `!document.querySelector("[data-load]:empty")`)
	png, err := chromedp.Run(s.ctx, chromedp.CaptureScreenshot())
	if err == nil {
		err = os.MkdirAll(filepath.Dir(file), 0o755)
	}
	if err == nil {
		err = os.WriteFile(file, png, 0o644)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// axeScript is the checker of accessibility, which npm fetches.
func axeScript(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "page", "web", "node_modules", "axe-core", "axe.min.js"))
	if err == nil {
		return string(text)
	}
	const missing = "axe-core is not here: run `make assets` with node installed"
	if os.Getenv(pgtest.Require) == "all" {
		t.Fatal(missing)
	}
	t.Log(missing)
	return ""
}

// axe checks accessibility with the script, which the page has loaded: nothing
// serious may be found.
func (s *site) axe(where string) {
	s.t.Helper()
	found := eval[string](s.browser, `axe.run({ resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical")
		.map((v) => v.id + ": " + v.help + ": " + v.nodes.slice(0, 3).map((n) => n.html.slice(0, 150)).join(" | "))))`)
	var list []string
	if err := json.Unmarshal([]byte(found), &list); err != nil {
		s.t.Errorf("%s: axe said %q: %v", where, found, err)
	}
	for _, v := range list {
		s.t.Errorf("%s: %s", where, v)
	}
}

// board is the leaderboard of the API.
func (s *site) board() (b report.Leaderboard, err error) {
	err = json.Unmarshal([]byte(s.must("leaderboard", "--json", "--details", "--limit", "50")), &b)
	if err == nil && len(b.Rows) < 3 {
		err = fmt.Errorf("the leaderboard has %d rows", len(b.Rows))
	}
	return b, err
}
