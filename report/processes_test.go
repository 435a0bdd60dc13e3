package report

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
)

func TestProcessesOf_JoinsStartAndEndOfEachLife(t *testing.T) {
	from := time.Date(2026, 11, 15, 22, 0, 0, 0, time.UTC)
	at := func(s int) time.Time { return from.Add(time.Duration(s) * time.Second) }
	event := func(s int, kind ktrdr.EventKind, data string) ktrdr.Event {
		return ktrdr.Event{At: at(s), Kind: kind, Data: json.RawMessage(data)}
	}
	lives, log := processesOf([]ktrdr.Event{
		event(1, ktrdr.EventWorkerLost, `{"worker_id":"w-old","name":"box-9"}`), // it joined before
		event(2, ktrdr.EventBackendStarted, `{"backend_id":"lab","incarnation":"b-1","pid":10}`),
		event(3, ktrdr.EventWorkerRegistered, `{"worker_id":"w-in","name":"inside","held_by":"b-1"}`),
		event(4, ktrdr.EventWorkerRegistered, `{"worker_id":"w-1","name":"box-1","pid":11}`),
		event(5, ktrdr.EventWorkerRegistered, `{"worker_id":"w-1","name":"box-1","pid":11}`), // again, after a silence
		event(6, ktrdr.EventBackendDied, `{"backend_id":"lab","incarnation":"b-1","pid":10}`),
		event(7, ktrdr.EventBackendStarted, `{"backend_id":"lab","incarnation":"b-2","pid":12}`),
		event(8, ktrdr.EventWorkerLeft, `{"worker_id":"w-1","name":"box-1"}`),
		event(9, ktrdr.EventBreaker, `{"name":"provider:local","to":"OPEN","reason":"3 failures in a row"}`),
	}, from)
	want := []ProcessLife{
		{Kind: "worker", Name: "box-9", ID: "w-old", From: from, To: at(1), Died: true},
		{Kind: "backend", Name: "lab", ID: "b-1", PID: 10, From: at(2), To: at(6), Died: true},
		{Kind: "worker", Name: "box-1", ID: "w-1", PID: 11, From: at(4), To: at(8)},
		{Kind: "backend", Name: "lab", ID: "b-2", PID: 12, From: at(7)},
	}
	if diff := cmp.Diff(want, lives); diff != "" {
		t.Errorf("lives (-want +got):\n%s", diff)
	}
	if len(log) != 8 || log[0].Text != "OPEN: 3 failures in a row" || log[0].Name != "provider:local" || log[7].Kind != ktrdr.EventWorkerLost {
		t.Errorf("the log is %+v", log)
	}
}
