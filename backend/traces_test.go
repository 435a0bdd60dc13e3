package backend

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/tracing"
)

// fakeTraces is a store with a lease for which time does not pass.
type fakeTraces struct {
	events []ktrdr.Event
	holder string
	at     ktrdr.Cursor
}

func (f *fakeTraces) LeaseTraces(_ context.Context, who string, _ time.Duration) (ktrdr.Cursor, bool, error) {
	if f.holder != "" && f.holder != who {
		return ktrdr.Cursor{}, false, nil
	}
	f.holder = who
	return f.at, true, nil
}

func (f *fakeTraces) MoveTraces(_ context.Context, who string, to ktrdr.Cursor) (bool, error) {
	if f.holder != who {
		return false, nil
	}
	f.at = to
	return true, nil
}

func (f *fakeTraces) Events(_ context.Context, q ktrdr.EventQuery) (found []ktrdr.Event, _ error) {
	for _, e := range f.events {
		if e.Cursor.ID > q.After.ID {
			found = append(found, e)
		}
	}
	return found, nil
}

func (f *fakeTraces) Operation(_ context.Context, id ktrdr.OperationID) (ktrdr.Operation, error) {
	switch id {
	case "op_gone":
		return ktrdr.Operation{}, ktrdr.Errorf(ktrdr.CodeNotFound, "no operation %s", id)
	case "op_untraced":
		return ktrdr.Operation{ID: id}, nil
	}
	return ktrdr.Operation{ID: id, Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}, nil
}

func (f *fakeTraces) happened(kind ktrdr.EventKind, op ktrdr.OperationID, ago time.Duration) {
	at := ktrdr.Cursor{ID: int64(len(f.events) + 1)}
	f.events = append(f.events, ktrdr.Event{Cursor: at, Kind: kind, Operation: op, At: time.Now().Add(-ago)})
}

// exporter keeps what is sent while the collector takes it.
type exporter struct {
	away bool
	sent []string
}

func (e *exporter) export(_ context.Context, ended []tracing.Ended) error {
	if e.away {
		return errors.New("the collector is away")
	}
	for _, one := range ended {
		e.sent = append(e.sent, fmt.Sprint(one.ID, " ", one.Outcome))
	}
	return nil
}

func TestTraces_EveryEndIsSentOnceItIsTaken(t *testing.T) {
	store, sink := &fakeTraces{}, &exporter{}
	begin := func(who string) *operationTraces {
		return &operationTraces{store: store, export: sink.export, who: who, log: slog.New(slog.DiscardHandler)}
	}
	store.happened(ktrdr.EventClaimed, "op_a", 0)
	store.happened(ktrdr.EventFailed, "op_a", 0)
	store.happened(ktrdr.EventCompleted, "op_gone", 0)
	store.happened(ktrdr.EventCompleted, "op_untraced", 0)
	store.happened(ktrdr.EventCompleted, "op_old", 2*tracesPatience)
	sink.away = true
	if err := begin("one").catchUp(t.Context()); err == nil || store.at != (ktrdr.Cursor{}) {
		t.Errorf("a collector that is away: %v, and the export moved to %v", err, store.at)
	}
	sink.away = false
	for _, who := range []string{"two", "one", "one"} { // another backend without the lease, this one after a kill, and again
		if err := begin(who).catchUp(t.Context()); err != nil {
			t.Error(err)
		}
	}
	if want := []string{"op_a FAILED"}; !slices.Equal(sink.sent, want) {
		t.Errorf("sent %v, want %v", sink.sent, want)
	}
	store.happened(ktrdr.EventCancelled, "op_b", 0)
	store.holder = "two" // which took the lease over
	first := begin("one")
	first.until, first.after = time.Now().Add(time.Hour), store.at
	if err := first.catchUp(t.Context()); err != nil || !first.until.IsZero() {
		t.Errorf("a lease that another backend has is kept until %v, %v", first.until, err)
	}
}
