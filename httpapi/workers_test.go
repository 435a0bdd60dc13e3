package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
)

func TestWorkers_AnotherProtocolIsRefusedBeforeItsFields(t *testing.T) {
	st := serve(t, &fakeEngine{})
	for body, want := range map[string]string{
		`{"protocol":2,"worker":{"worker_id":"w","moods":["new"]}}`: "upgrade the backend",
		`{"protocol":0,"worker":{"worker_id":"w"}}`:                 "upgrade the worker",
	} {
		a := st.send(t, http.MethodPost, "/api/v1/workers/register", body)
		refusedWith(t, body, a, "", http.StatusUpgradeRequired, ktrdr.CodeProtocol)
		if !strings.Contains(a.parsed.Error.Message, want) || a.header.Get("Upgrade") != "ktrdr-worker/1" {
			t.Errorf("message = %q, Upgrade = %q, want it to say %q", a.parsed.Error.Message, a.header.Get("Upgrade"), want)
		}
	}
	a := st.send(t, http.MethodPost, "/api/v1/workers/register", `{"protocol":1,"worker":{"worker_id":"w","moods":["new"]}}`)
	refusedWith(t, "unknown field", a, "", http.StatusBadRequest, ktrdr.CodeInvalid)
}

func TestWorkers_OnlyABackendHoldsItsWorkers(t *testing.T) {
	st := serve(t, &fakeEngine{})
	a := st.send(t, http.MethodPost, "/api/v1/workers/register",
		`{"protocol":1,"worker":{"worker_id":"w","types":["dummy"],"slots":1,"held_by":"backend-1"}}`)
	refusedWith(t, "held_by", a, "", http.StatusForbidden, ktrdr.CodeForbidden)
}

func TestWorkers_IDsThatCannotExistAreRefused(t *testing.T) {
	st := serve(t, &fakeEngine{})
	for path, body := range map[string]string{
		"register":   `{"protocol":1,"worker":{"worker_id":"w"},"finished":[{"operation_id":"../x","epoch":1}]}`,
		"heartbeat":  `{"worker_id":"w","running":[{"operation_id":"OP","epoch":1}]}`,
		"claim":      `{"worker_id":"w","running":[{"operation_id":"","epoch":1}]}`,
		"progress":   `{"operation_id":"op_` + strings.Repeat("x", 200) + `","epoch":1}`,
		"checkpoint": `{"operation_id":"op_'; DROP TABLE","epoch":1}`,
		"skip":       `{"operation_id":"op_\n","epoch":1}`,
		"finish":     `{"epoch":1,"outcome":"COMPLETED"}`,
		"release":    `{"operation_id":"op-1","epoch":1}`,
	} {
		a := st.send(t, http.MethodPost, "/api/v1/workers/"+path, body)
		refusedWith(t, path, a, "", http.StatusUnprocessableEntity, ktrdr.CodeInvalid)
	}
}

func TestWorkers_AStateOfSixteenMegabytesFits(t *testing.T) {
	t.Parallel()
	var got int
	st := serve(t, &fakeEngine{checkpoint: func(c ktrdr.NewCheckpoint) (ktrdr.CheckpointInfo, error) {
		got = len(c.State)
		return ktrdr.CheckpointInfo{}, nil
	}})
	state, _ := json.Marshal(strings.Repeat("x", ktrdr.MaxState-2))
	a := st.send(t, http.MethodPost, "/api/v1/workers/checkpoint", `{"operation_id":"`+string(testOp)+`","state":`+string(state)+`}`)
	if a.status != http.StatusOK || got != ktrdr.MaxState {
		t.Errorf("status = %d, state of %d bytes, want 200 and %d", a.status, got, ktrdr.MaxState)
	}
	a = st.send(t, http.MethodPost, "/api/v1/workers/finish", `{"operation_id":"`+string(testOp)+
		`","outcome":"COMPLETED","result":`+string(state)+`}`)
	refusedWith(t, "a result as large", a, "", http.StatusRequestEntityTooLarge, ktrdr.CodeTooLarge)
}

func TestWorkers_AClaimEndsWithItsWorkerAndWithTheServer(t *testing.T) {
	waiting, ended := make(chan float64), make(chan error, 1)
	st := serve(t, &fakeEngine{claim: func(ctx context.Context, c ktrdr.ClaimRequest) (ktrdr.ClaimReply, error) {
		waiting <- c.Wait
		<-ctx.Done()
		ended <- ctx.Err()
		return ktrdr.ClaimReply{}, nil
	}}, func(c *Config) { c.Grace = time.Minute })
	cl := newClient(t, st, ktrdr.ScopeWorker)
	claim := func(ctx context.Context) <-chan error {
		done := make(chan error, 1)
		go func() {
			_, err := cl.Claim(ctx, ktrdr.ClaimRequest{Worker: "w", Wait: 1000})
			done <- err
		}()
		return done
	}
	ctx, leave := context.WithCancel(t.Context())
	done := claim(ctx)
	if got := <-waiting; got != api.MaxPoll.Seconds() {
		t.Errorf("wait = %v s, want no more than %v", got, api.MaxPoll)
	}
	leave()
	<-ended
	if err := <-done; ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		t.Errorf("the worker that left got %v, want CodeUnavailable", err)
	}
	done = claim(t.Context())
	<-waiting
	st.stop() // returns only because the poll ends
	<-ended
	if err := <-done; err != nil {
		t.Errorf("the worker that waited got %v, want an empty reply", err)
	}
}
