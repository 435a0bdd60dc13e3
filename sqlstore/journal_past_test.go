package sqlstore

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
)

const oneDay = 24 * time.Hour

// called plants n answered calls of a research, of the given age.
func called(t *testing.T, s *Store, root ktrdr.OperationID, model string, n int, age time.Duration) {
	t.Helper()
	mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, input_tokens, output_tokens, at,
		settled_at, answer)
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $3)
		SELECT (SELECT COALESCE(MAX(id), 0) FROM llm_calls) + i, $1, $1, 1, $5, $2, 'answered', 10, 2, 3,
			CAST($4 AS BIGINT) + i, CAST($4 AS BIGINT) + i, '{}' FROM n`,
		root, model, n, time.Now().Add(-age).UnixMicro(), ktrdr.Hash{1}.String())
}

func sums(t *testing.T, s *Store, from time.Time, run string) []ktrdr.CallSum {
	t.Helper()
	all, err := s.CallSums(t.Context(), from, run)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func answered(model string, n int64) ktrdr.CallSum {
	return ktrdr.CallSum{Model: model, Status: ktrdr.CallAnswered, Calls: n, Charged: ktrdr.MicroUSD(10 * n), Input: 2 * n, Output: 3 * n}
}

func TestCallSums_CountEveryCallHoweverMany(t *testing.T) {
	eachReporting(t, func(l *reporting) {
		t, s := l.T, l.s
		first, second := l.research("run_a", 0, end{}).ID, l.research("run_a", 1, end{}).ID
		other := l.research("run_b", 0, end{}).ID
		called(t, s, other, "x/large", 1500, time.Hour)
		called(t, s, first, "x/large", 700, time.Hour)
		called(t, s, second, "y/small", 5, time.Hour)
		called(t, s, second, "y/small", 9, 3*time.Hour)
		mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, at)
			VALUES (9999, 'op_dummy_c', 'op_dummy_c', 1, 'k', 'y/small', 'reserved', 7, $1)`, time.Now().UnixMicro())
		mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, error, at, settled_at)
			VALUES (9998, 'op_dummy_c', 'op_dummy_c', 1, 'k', 'y/small', 'failed', 0, $2, $1, $1)`, time.Now().UnixMicro(), ktrdr.NotAsked)
		reserved := ktrdr.CallSum{Model: "y/small", Status: ktrdr.CallReserved, Calls: 1, Charged: 7}
		for name, c := range map[string]struct {
			from time.Duration
			run  string
			want []ktrdr.CallSum
		}{
			"all":           {-2 * time.Hour, "", []ktrdr.CallSum{answered("x/large", 2200), answered("y/small", 5), reserved}},
			"from before":   {-4 * time.Hour, "", []ktrdr.CallSum{answered("x/large", 2200), answered("y/small", 14), reserved}},
			"none any more": {time.Hour, "", nil},
			"of no run":     {-2 * time.Hour, "run_c", nil},
			"of one run":    {-2 * time.Hour, "run_a", []ktrdr.CallSum{answered("x/large", 700), answered("y/small", 5)}},
			"of the other":  {-2 * time.Hour, "run_b", []ktrdr.CallSum{answered("x/large", 1500)}},
		} {
			if diff := cmp.Diff(c.want, sums(t, s, time.Now().Add(c.from), c.run)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
		}
	})
}

func TestExpireCalls_OfResearchesThatCannotResumeAndNoSumShrinks(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		live, done, failed, dead := running(t, s), running(t, s), running(t, s), running(t, s)
		failed.save(1, 1)
		done.finish(1, ktrdr.Completed)
		failed.finish(1, ktrdr.Failed)
		dead.finish(1, ktrdr.Failed)
		all := []*saved{live, done, failed, dead}
		for _, x := range all {
			called(t, s, x.op, "x/large", 400, 40*oneDay)
			called(t, s, x.op, "y/small", 3, time.Minute)
		}
		var spent []ktrdr.Spending
		spending := func(x *saved) ktrdr.Spending {
			t.Helper()
			got, err := s.Spending(t.Context(), x.op)
			if err != nil {
				t.Fatal(err)
			}
			return got
		}
		for _, x := range all {
			spent = append(spent, spending(x))
		}
		mustRaw(t, s, `INSERT INTO llm_calls (id, root_id, operation_id, epoch, key, model, status, charged, error, at, settled_at)
			SELECT 0, $1, $1, 1, 'k', 'z/unasked', 'failed', 0, $2, at, at FROM llm_calls WHERE id = 1`, dead.op, ktrdr.NotAsked)
		before := sums(t, s, time.Time{}, "")
		for _, want := range []int{500, 301, 0} { // of what has ended for good, and in pieces
			if n, err := s.ExpireCalls(t.Context(), 30*oneDay); err != nil || n != want {
				t.Errorf("expired %d calls, %v; want %d", n, err, want)
			}
		}
		if n, err := s.ExpireCalls(t.Context(), 0); err != nil || n != 0 {
			t.Errorf("expired %d calls of the last day, %v; want none", n, err)
		}
		for i, x := range all {
			kept, err := s.Calls(t.Context(), x.op, 1000)
			if want := map[*saved]int{live: 403, done: 3, failed: 403, dead: 3}[x]; err != nil || len(kept) != want {
				t.Errorf("%d calls of the %d. research are kept, %v; want %d", len(kept), i, err, want)
			}
			if got := spending(x); got != spent[i] {
				t.Errorf("the %d. research has spent %+v, and %+v before", i, got, spent[i])
			}
		}
		if diff := cmp.Diff(before, sums(t, s, time.Time{}, "")); diff != "" {
			t.Errorf("sums (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff([]ktrdr.CallSum{answered("y/small", 12)}, sums(t, s, time.Now().Add(-oneDay), "")); diff != "" {
			t.Errorf("of the last day (-want +got):\n%s", diff)
		}
	})
}

func TestExpireCalls_NoNumberIsGivenTwice(t *testing.T) {
	eachStore(t, nil, func(t *testing.T, s *Store) {
		called(t, s, "op_dummy_gone", "x/large", 3, 40*oneDay)
		if n, err := s.ExpireCalls(t.Context(), oneDay); err != nil || n != 2 {
			t.Fatalf("expired %d calls, %v; want all but the last", n, err)
		}
		x := running(t, s)
		call, err := s.ReserveCall(t.Context(), ktrdr.NewCall{Operation: x.op, Epoch: 1, Key: ktrdr.Hash{1}, Model: "m", Daily: 1, Research: 1})
		if err != nil || call.ID != 4 {
			t.Errorf("call %d, %v; want 4", call.ID, err)
		}
	})
}
