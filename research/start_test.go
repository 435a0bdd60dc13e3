package research

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// created is a store of operations by their keys. It fails once when it has
// failAfter of them.
type created struct {
	order     []string
	byKey     map[string]ktrdr.Operation
	failAfter int
	calls     []int // operations of each call
}

func (s *created) SubmitAll(_ context.Context, ops []ktrdr.NewOperation, keys []ktrdr.IdempotencyKey) (made []ktrdr.Operation, err error) {
	s.calls = append(s.calls, len(ops))
	if s.failAfter > 0 && len(s.order) >= s.failAfter {
		s.failAfter = 0
		return nil, ktrdr.Errorf(ktrdr.CodeUnavailable, "the database is away")
	}
	for i, n := range ops {
		id, key := ktrdr.NewOperationID(n.Type, time.Now()), keys[i].Key
		if key != "" {
			ops[i].ID = id
		} else {
			key = string(id)
		}
		if _, ok := s.byKey[key]; !ok {
			s.order = append(s.order, key)
			s.byKey[key] = ktrdr.Operation{
				ID: id, Type: n.Type, Status: ktrdr.Pending, Spec: n.Spec, Queue: &ktrdr.QueuePlace{Run: n.Queue.Run}, Session: int64(len(s.order)),
			}
		}
		made = append(made, s.byKey[key])
	}
	return made, nil
}

func (s *created) spec(t *testing.T, i int) Spec {
	t.Helper()
	return specOf(t, ktrdr.NewOperation{Spec: s.byKey[s.order[i]].Spec})
}

func TestStart_CreatesTheRunInChunks(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	store := &created{byKey: map[string]ktrdr.Operation{}}
	d.cfg.Operations = store
	const count = ktrdr.MaxCreate + 2
	got, err := d.Start(t.Context(), Request{Brief: "momentum on EURUSD", Count: count, Seed: new(uint64(9))}, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int{1, ktrdr.MaxCreate, 1}; !slices.Equal(store.calls, want) {
		t.Errorf("operations of each call: %v, want %v", store.calls, want)
	}
	if len(got.Operations) != count || got.Operation != got.Operations[0].Operation || got.Session != 1 || got.Seed != 9 ||
		got.Run == "" || len(got.Understood) == 0 || got.Replayed {
		t.Errorf("%d researches, answer %+v", len(got.Operations), got)
	}
}

func TestStart_UnderAKeyCompletesAnInterruptedRequest(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	store := &created{byKey: map[string]ktrdr.Operation{}, failAfter: 1}
	d.cfg.Operations = store
	key := ktrdr.IdempotencyKey{Key: "token POST /path run"}
	start := func() (Triggered, error) {
		return d.Start(t.Context(), Request{Brief: "momentum on EURUSD", Count: 3}, key)
	}
	if _, err := start(); ktrdr.CodeOf(err) != ktrdr.CodeUnavailable || !strings.Contains(err.Error(), "1 of 3 researches") {
		t.Fatalf("interrupted: %v, want how many were created", err)
	}
	// A new request would research other bars now.
	added(t, d.cfg.Library, market.Synth(market.SynthConfig{Symbol: "EURUSD", Bars: 1300, Seed: 4}))
	second, err := start()
	if err != nil || second.Replayed || len(store.order) != 3 {
		t.Fatalf("repeated: %+v, %v; want the other two to be created", second, err)
	}
	first, last := store.spec(t, 0), store.spec(t, 2)
	if first.Run != last.Run || first.Bars[0].Hash != last.Bars[0].Hash || second.Run != first.Run {
		t.Errorf("the third research is of run %s and bars %s; want those of the first", last.Run, last.Bars[0].Hash)
	}
	third, err := start()
	if err != nil || !third.Replayed || third.Run != second.Run || !slices.Equal(third.Operations, second.Operations) {
		t.Errorf("once more: %+v, %v; want the same answer as a replay", third, err)
	}
}

func TestStart_ARefusedRequestCreatesNothing(t *testing.T) {
	d, _ := newDesk(t, map[string]int{"EURUSD": 1200})
	store := &created{byKey: map[string]ktrdr.Operation{}}
	d.cfg.Operations = store
	if _, err := d.Start(t.Context(), Request{Symbols: []string{"NONE"}}, ktrdr.IdempotencyKey{}); ktrdr.CodeOf(err) != ktrdr.CodeInvalid ||
		len(store.calls) != 0 {
		t.Errorf("%d calls, %v; want a refusal and none", len(store.calls), err)
	}
}
