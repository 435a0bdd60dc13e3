package research

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestLimit_IsOneForEachSlotAndOneMore(t *testing.T) {
	both := []ktrdr.Type{ktrdr.Training, ktrdr.Backtesting}
	for name, x := range map[string]struct {
		most    int
		workers []ktrdr.Worker
		want    int
	}{
		"no worker":          {0, nil, 1},
		"one that does both": {0, []ktrdr.Worker{{Live: true, Slots: 2, Types: both}}, 5},
		"one each":           {0, []ktrdr.Worker{{Live: true, Slots: 1, Types: both[:1]}, {Live: true, Slots: 1, Types: both[1:]}}, 3},
		"a dead one":         {0, []ktrdr.Worker{{Slots: 9, Types: both}}, 1},
		"agents only":        {0, []ktrdr.Worker{{Live: true, Slots: 9, Types: []ktrdr.Type{ktrdr.AgentDesign}}}, 1},
		"a limit set":        {7, []ktrdr.Worker{{Live: true, Slots: 2, Types: both}}, 7},
	} {
		if got := Limit(x.most)(x.workers); got != x.want {
			t.Errorf("%s: %d, want %d", name, got, x.want)
		}
	}
}

func TestStatus_ShowsAllAndThePhaseOfTheNewest(t *testing.T) {
	now := time.Unix(1000, 0)
	older, newer := reach(t, someSpec(t), ktrdr.Training), reach(t, someSpec(t), ktrdr.Backtesting)
	older.parent.Session, newer.parent.Session = 1, 2
	newer.parent.ID = "op_agent_research_20260102_030405_0a0b0c0e"
	older.parent.StartedAt = now.Add(-time.Minute)
	waits := ktrdr.Operation{
		ID: "op_waits", Status: ktrdr.Pending, Session: 3, Metadata: json.RawMessage(`{"brief":"later","seed":4,"run":"r","generation":1}`),
	}
	last := assessed(t, someSpec(t), nil)
	child := *older.newest()
	child.Progress.Percentage = 40
	st := StatusOf(Snapshot{
		Researches: []ktrdr.Operation{waits, newer.parent, older.parent}, Last: &last.parent, Now: now,
		Children: map[ktrdr.OperationID]ktrdr.Operation{child.ID: child}, Queue: ktrdr.QueueHealth{Limit: 3, Active: 2, Waiting: 1},
		Workers: []ktrdr.Worker{{Live: true, Slots: 2, Running: 1, Types: []ktrdr.Type{ktrdr.Training}}},
	})
	if st.Status != "active" || st.Phase != Backtesting || len(st.Active) != 3 ||
		st.Capacity != (ktrdr.QueueHealth{Active: 2, Limit: 3, Waiting: 1}) || st.Workers["training"] != (ktrdr.WorkerSlots{Total: 2, Busy: 1}) {
		t.Errorf("%+v", st)
	}
	a := st.Active[0]
	if a.Session != 1 || a.Phase != Training || a.Child != child.ID || a.Progress.Percentage != 40 || a.Seconds != 60 || a.Strategy == "" {
		t.Errorf("the older: %+v", a)
	}
	if w := st.Active[2]; w.Phase != Idle || w.Brief != "later" || w.Seed != 4 || w.Generation != 1 {
		t.Errorf("who waits: %+v", w)
	}
	if st.Last.Outcome != OutcomeCompleted || st.Last.Verdict != "neutral" || st.Last.Summary == "" {
		t.Errorf("last: %+v", st.Last)
	}
	if empty := StatusOf(Snapshot{}); empty.Phase != Idle || empty.Status != "idle" || empty.Active == nil || empty.Last != nil {
		t.Errorf("without anything: %+v", empty)
	}
}

func TestStatus_ShowsTheRunsThatLast(t *testing.T) {
	now := time.Unix(1000, 0).UTC()
	run := func(id string, until time.Time, state ktrdr.RunState, generations, open int) ktrdr.OpenRun {
		return ktrdr.OpenRun{Run: ktrdr.Run{ID: id, Until: until, State: state, Generations: generations, RunCounts: ktrdr.RunCounts{Open: open}}}
	}
	later := now.Add(time.Hour)
	st := StatusOf(Snapshot{Now: now, Runs: []ktrdr.OpenRun{
		run("night", later, ktrdr.RunRunning, 4, 2), run("once", time.Time{}, ktrdr.RunRunning, 1, 1), run("nearly", now, ktrdr.RunRunning, 3, 1),
		run("stopped", later, ktrdr.RunCancelled, 2, 1), run("given_up", later, ktrdr.RunGivenUp, 2, 0),
		run("new", later, ktrdr.RunRunning, 0, 0),
	}})
	want := []Lasting{{"night", later, 3, 2}, {"new", later, 0, 0}}
	if !slices.Equal(st.Lasting, want) {
		t.Errorf("lasting %+v, want %+v", st.Lasting, want)
	}
}
