package page_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
)

func TestOperations_AreListedSearchedAndChanged(t *testing.T) {
	l := openLab(t)
	failed, err := l.client.StartDummy(t.Context(), dummy.Spec{Steps: 40, CheckpointEvery: 10, FailAt: 35}, "")
	if err != nil {
		t.Fatal(err)
	}
	hanging, err := l.client.StartDummy(t.Context(), dummy.Spec{Steps: 2, Hang: true}, "")
	if err != nil {
		t.Fatal(err)
	}
	admin, reader := l.browser(ktrdr.ScopeAdmin), l.browser(ktrdr.ScopeRead)
	one := "/operations/" + string(failed.Operation)

	list := admin.eventually("/operations?status=FAILED", string(failed.Operation))
	has(t, list, `action="`+one+`/resume"`, `action="`+one+`/retry"`, "ktrdr resume "+string(failed.Operation), "in-process", "Circuit breakers")
	hasNot(t, list, `<tr id="`+string(hanging.Operation)+`"`)
	hasNot(t, reader.get("/operations"), `action="`+one, "Pause new work")
	has(t, admin.get("/operations?q="+failed.Operation.Tail()), string(failed.Operation))
	has(t, admin.get("/operations?q=zz%25"), "No operation matches.", "Clear filters")

	page := admin.get("/operations/" + failed.Operation.Tail()) // a part of the id is enough
	has(t, page, "Dummy failed: step 35 fails", "4 checkpoints", "Claimed", `id="checkpoints"`)
	checkpoints, err := l.client.History(t.Context(), failed.Operation)
	if err != nil || len(checkpoints) < 2 {
		t.Fatalf("%d checkpoints, %v", len(checkpoints), err)
	}
	q := url.Values{"from": {checkpoints[1].ID}, "to": {checkpoints[0].ID}}
	has(t, admin.get(one+"?"+q.Encode()), "Changes from step 30 to step 34", "− step: 30", "&#43; step: 34")

	if status, _ := reader.post(one+"/resume", nil); status != http.StatusForbidden {
		t.Errorf("a read token resumes: %d, want 403", status)
	}
	if status, body := admin.post(one+"/resume", url.Values{"back": {"/operations?status=FAILED"}}); status != http.StatusOK {
		t.Errorf("resume answers %d: %s", status, body)
	}
	admin.eventually(one, "attempt 2")
	if status, _ := admin.post("/operations/"+string(hanging.Operation)+"/cancel", nil); status != http.StatusOK {
		t.Errorf("cancel answers %d", status)
	}
	admin.eventually("/operations/"+string(hanging.Operation), "was cancelled")

	if status, body := admin.post("/operations/pause", url.Values{"paused": {"true"}}); status != http.StatusOK {
		t.Errorf("pause answers %d: %s", status, body)
	}
	admin.eventually("/operations", "Paused: nothing new is started.")
}

func TestBreakers_AreDecidedByAPersonWithAReason(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	if status, body := admin.post("/breakers/provider:local/decide", url.Values{"decision": {"reset"}, "by": {"ann"}}); status != http.StatusBadRequest {
		t.Errorf("a reset without a reason answers %d: %s", status, body)
	}
	form := url.Values{"decision": {"reset"}, "by": {"ann"}, "why": {"restarted"}}
	if status, _ := admin.post("/breakers/provider:local/decide", form); status != http.StatusNotFound {
		t.Errorf("a breaker that is not there answers %d, want 404", status)
	}
}
