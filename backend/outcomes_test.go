package backend

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ktrdr/ktrdr"
)

// eventPages yields a log of events in pages of two.
type eventPages []ktrdr.Event

func (p eventPages) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	return ktrdr.Operation{
		ID: id, Phase: "TRAINING", ErrorMessage: "no samples", Error: &ktrdr.Failure{Code: ktrdr.CodeInvalid},
	}, nil
}

func (p eventPages) Changed() <-chan struct{} { return nil }

func (p eventPages) Events(_ context.Context, q ktrdr.EventQuery) (page []ktrdr.Event, _ error) {
	for i, e := range p {
		e.Cursor.ID = int64(i + 1)
		if e.Cursor.ID > q.After.ID && len(page) < 2 {
			page = append(page, e)
		}
	}
	return page, nil
}

// An event says in its data of what type an operation is. Its id is not read.
func TestOutcomes_AreCountedAndLoggedFromTheDataOfEvents(t *testing.T) {
	end := func(kind ktrdr.EventKind, data string) ktrdr.Event {
		return ktrdr.Event{Operation: "op_1", Kind: kind, Data: json.RawMessage(data)}
	}
	var log bytes.Buffer
	o := outcomeCounter{counts: newOutcomes(), log: slog.New(slog.NewTextHandler(&log, nil)), events: eventPages{
		end(ktrdr.EventCompleted, `{"to":"COMPLETED","operation_type":"agent_research","rung":"finalist"}`),
		end(ktrdr.EventCompleted, `{"to":"COMPLETED","operation_type":"agent_research","rung":"nothing"}`),
		end(ktrdr.EventCompleted, `{"to":"COMPLETED","operation_type":"agent_research","rung":"gate_rejected"}`),
		end(ktrdr.EventFailed, `{"to":"FAILED","operation_type":"agent_research"}`),
		end(ktrdr.EventCancelled, `{"to":"CANCELLED","operation_type":"agent_research"}`),
		end(ktrdr.EventCompleted, `{"to":"COMPLETED","operation_type":"training"}`),
		end(ktrdr.EventCreated, `{"to":"PENDING","operation_type":"agent_research"}`),
		{Operation: "op_agent_research_20261115_080000_00000000", Kind: ktrdr.EventCompleted, Data: json.RawMessage(`{"to":"COMPLETED"}`)},
	}}
	for range 2 { // what was counted is not counted again
		if err := o.catchUp(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	for line, n := range map[string]int{
		"level=INFO msg=\"Research completed\" op=op_1 outcome=completed\n":                           2,
		"level=INFO msg=\"Research completed\" op=op_1 outcome=gate_rejected\n":                       1,
		"level=WARN msg=\"Research failed\" op=op_1 phase=TRAINING code=invalid err=\"no samples\"\n": 1,
		"level=INFO msg=\"Research cancelled\" op=op_1\n":                                             1,
	} {
		if got := strings.Count(log.String(), line); got != n {
			t.Errorf("logged %d times, want %d: %sin\n%s", got, n, line, log.String())
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(o.counts)
	families, err := registry.Gather()
	if err != nil || len(families) != 1 {
		t.Fatalf("%d families, %v", len(families), err)
	}
	got := map[string]float64{}
	for _, m := range families[0].GetMetric() {
		got[m.GetLabel()[0].GetValue()] = m.GetCounter().GetValue()
	}
	want := map[string]float64{"completed": 2, "gate_rejected": 1, "failed": 1, "cancelled": 1}
	if !maps.Equal(got, want) {
		t.Errorf("counted %v, want %v", got, want)
	}
}
