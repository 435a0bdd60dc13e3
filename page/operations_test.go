package page_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/dummy"
	"github.com/ktrdr/ktrdr/research"
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

	list := admin.eventually("/operations?status=FAILED", `action="`+one+`/resume"`) // while it runs, its id stands beside its worker
	has(t, list, string(failed.Operation), `action="`+one+`/retry"`, "ktrdr resume "+string(failed.Operation),
		"in-process", "Circuit breakers")
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
	has(t, page, "Resume from here", "ktrdr resume "+string(failed.Operation)+" --checkpoint "+checkpoints[1].ID)
	hasNot(t, reader.get(one), "Resume from here")
	if status, _ := admin.post(one+"/resume", url.Values{"checkpoint": {"0000000009.0000000009"}}); status != http.StatusNotFound {
		t.Errorf("resume from a checkpoint that is not there answers %d, want 404", status)
	}
	form := url.Values{"back": {"/operations?status=FAILED"}, "checkpoint": {checkpoints[1].ID}}
	if status, body := admin.post(one+"/resume", form); status != http.StatusOK {
		t.Errorf("resume answers %d: %s", status, body)
	}
	has(t, admin.eventually(one, "attempt 2"), "resumed by hand from this one; 1 newer left out")
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
	l := openLab(t, "KTRDR_PROVIDERS", "own=http://127.0.0.1:9/v1", "KTRDR_MODELS", "own/m", "KTRDR_MODEL_PRICES", "own/m=0/0",
		"KTRDR_MODEL", "own/m", "KTRDR_RETRY_MAX_RETRIES", "0")
	admin, reader := l.browser(ktrdr.ScopeAdmin), l.browser(ktrdr.ScopeRead)
	admin.imported("EURUSD_1h.csv", prices(3000))
	if _, err := l.client.Trigger(t.Context(), research.Request{Brief: "trend", Force: true}, ""); err != nil {
		t.Fatal(err)
	}
	admin.eventually("/operations", "agent:designer") // it appears with its first call
	const path = "/breakers/agent:designer/decide"
	has(t, admin.get("/operations?breaker=agent:designer"), `action="`+path+`"`, "ktrdr breakers reset agent:designer --by NAME --why REASON")
	hasNot(t, reader.get("/operations?breaker=agent:designer"), path, "Reset or hold")

	form := url.Values{"decision": {"open"}, "by": {"ann"}, "back": {"/operations"}}
	if status, body := admin.post(path, form); status != http.StatusBadRequest {
		t.Errorf("a decision without a reason answers %d: %s", status, body)
	}
	form.Set("why", "<b>it lies</b>\u202e")
	if status, _ := reader.post(path, form); status != http.StatusForbidden {
		t.Errorf("a read token decides: %d, want 403", status)
	}
	if status, _ := admin.post("/breakers/agent:none/decide", form); status != http.StatusNotFound {
		t.Errorf("a breaker that is not there answers %d, want 404", status)
	}
	if status, body := admin.post(path, form); status != http.StatusOK {
		t.Fatalf("holding a breaker answers %d: %s", status, body)
	}
	page := admin.eventually("/operations", "held open")
	has(t, page, "by ann", "&lt;b&gt;it lies")
	hasNot(t, page, "<b>it lies", "\u202e")
	for _, decision := range []string{"auto", "reset"} {
		form.Set("decision", decision)
		if status, body := admin.post(path, form); status != http.StatusOK {
			t.Fatalf("%s answers %d: %s", decision, status, body)
		}
	}
	for _, b := range breakersOf(l) {
		if b.Name == "agent:designer" && (b.State != ktrdr.BreakerClosed || b.Forced != "" || b.By != "ann") {
			t.Errorf("after the reset the breaker is %+v", b)
		}
	}
}

func breakersOf(l *lab) (list []ktrdr.Breaker) {
	l.Helper()
	all, err := l.client.Breakers(l.Context())
	if err != nil {
		l.Fatal(err)
	}
	for _, b := range all {
		list = append(list, b.Breaker)
	}
	return list
}
