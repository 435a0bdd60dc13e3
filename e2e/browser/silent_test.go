package browser

import "testing"

// A backend that is stopped keeps its connections open and says nothing. The
// stream is then given up, and opened again when the backend continues.
func TestPage_GivesUpASilentStreamAndOpensItAgain(t *testing.T) {
	t.Parallel()
	s := openSite(t)
	backend := s.ServeWith(1, withAuth)
	s.signIn()
	const live = `document.querySelector("#live span").textContent === "Live" && !document.body.classList.contains("lost")`
	s.until("the page is live", live)
	eval[int](s.browser, `window.loaded = 1`)
	s.away(true)
	backend.Stop()
	s.says("Server unreachable")
	backend.Cont()
	s.until("the page is live again without a reload", live+" && window.loaded === 1")
	s.away(false)
	s.must("research", "momentum on EURUSD 1h", "--seed", "2", "--follow")
	s.until("the stream tells what happens", `document.querySelectorAll("#leaders tbody tr").length === 1`)
	s.clean("after the silence")
}
