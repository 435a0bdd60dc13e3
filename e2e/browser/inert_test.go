package browser

import (
	"testing"
)

func TestPage_TextsOfUsersAreInert(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	s.ServeWith(2, withAuth)
	s.signIn()
	const payload = `mean reversion on EURUSD 1h "><img src=x onerror="window.hit=1"><script>window.hit=1</script> ` + "\u202etxt"
	s.must("research", payload, "--count", "2", "--seed", "2", "--follow")
	s.must("token", "create", `<b onmouseover="window.hit=1">x`+"\u202e", "--scope", "read")
	board := s.must("leaderboard", "--json")
	if len(board) == 0 {
		t.Fatal("there is no leaderboard")
	}
	s.open(s.url + "/night")
	s.until("the researches are listed", `document.querySelectorAll("#leaders tbody tr").length === 2`)
	first := eval[string](s.browser, `document.querySelector("#leaders tbody a.go").getAttribute("href")`)
	for _, path := range []string{
		"/night", first, "/strategies", "/operations", "/lab/memory", "/lab/runs", "/lab/tokens",
		"/new?goal=%3Cscript%3Ewindow.hit=1%3C/script%3E",
	} {
		s.open(s.url + path)
		s.until(path+" is loaded", `document.readyState === "complete" && document.querySelector("h1")`)
		if eval[bool](s.browser, `!!window.hit || !!document.querySelector("main img, main script, main [onmouseover], main [onerror]")`) {
			t.Errorf("%s: a text of a user became a part of the page", path)
		}
		if eval[bool](s.browser, `/[\u202a-\u202e\u2066-\u2069]/.test(document.body.innerText)`) {
			t.Errorf("%s: a mark that turns the direction of a text is shown", path)
		}
		s.clean(path)
	}
}
