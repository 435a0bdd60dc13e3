package research

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/designer"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/llm"
)

// whole runs a research to its end and lets a child's result be changed.
func assessed(t testing.TB, spec Spec, change func(v any)) *tree {
	t.Helper()
	tr := plant(t, spec)
	tr.ask(ktrdr.WhyCreated)
	for tr.parent.Status == ktrdr.Running {
		tr.complete(change)
		tr.ask(ktrdr.WhyChild)
	}
	return tr
}

func (tr *tree) kinds() map[string]int {
	counts := map[string]int{}
	for _, n := range tr.notes {
		counts[n.Kind]++
	}
	return counts
}

func TestNotes_OfACompletedResearch(t *testing.T) {
	tr := assessed(t, someSpec(t), nil)
	if k := tr.kinds(); k[NoteExperiment] != 1 || k[NoteHypothesis] != 3 {
		t.Fatalf("noted %v", k)
	}
	for _, n := range tr.notes {
		if n.Run != "run_a" || n.Generation != 1 || n.Index != 2 || !strings.HasPrefix(n.Key, "run_a/1/2") {
			t.Errorf("note %+v is not at its place", n)
		}
	}
	var e Experiment
	if err := json.Unmarshal(tr.notes[NoteExperiment+" run_a/1/2"].Data, &e); err != nil {
		t.Fatal(err)
	}
	if e.Status != OutcomeCompleted || e.Strategy == "" || e.Genome == nil || e.Key != "k" || e.Verdict != evidence.Neutral ||
		e.ResultHash != tr.result().ResultHash || e.Figures.Trades != 40 || e.Figures.CostShare != 0.2 || len(e.Hypotheses) != 1 {
		t.Errorf("experiment %+v", e)
	}
	if len(e.Outcome.Reasons) != 1 || e.Outcome.Reasons[0].Code != "significance" {
		t.Errorf("the designer is told %v, want the lesson and nothing of the sealed holdout", e.Outcome.Reasons)
	}
	if text := string(tr.notes[NoteHypothesis+" run_a/1/2/0/tested"].Data); !strings.Contains(text, string(Inconclusive)) {
		t.Errorf("the tested hypothesis: %s", text)
	}
}

func TestNotes_ResumedResearchTellsItsLastEnd(t *testing.T) {
	tr := reach(t, someSpec(t), ktrdr.Backtesting)
	tr.die(ktrdr.Failed, ktrdr.CodeFailed, "bad luck")
	tr.ask(ktrdr.WhyChild)
	if k := tr.kinds(); k[NoteExperiment] != 1 {
		t.Fatalf("a failure noted %v, want how it ended", k)
	}
	tr.parent.Status = ktrdr.Running
	tr.ask(ktrdr.WhyResumed)
	for tr.parent.Status == ktrdr.Running {
		tr.complete(nil)
		tr.ask(ktrdr.WhyChild)
	}
	if k := tr.kinds(); k[NoteExperiment] != 2 || k[NoteHypothesis] != 3 {
		t.Errorf("after the resume: %v, want both ends", k)
	}
	past, err := NewMemory(shelf(tr.notes)).Recall(t.Context(), View{Run: "run_a", Generation: 2})
	if err != nil || len(past.Experiments) != 1 || past.Experiments[0].Outcome.Failed {
		t.Errorf("memory tells %+v, %v, want how it ended at last", past, err)
	}
}

func TestNotes_FitWhereTheyAreStored(t *testing.T) {
	spec := someSpec(t)
	spec.Brief = strings.Repeat("\x01", MaxBrief) // six bytes each, as JSON
	long := strings.Repeat("\"<long>\u2028", 1000)
	tr := assessed(t, spec, func(v any) {
		switch v := v.(type) {
		case *Design:
			v.Notes, v.Hypothesis = long, long
			v.Tests = &HypothesisNote{ID: long, Text: long, Rationale: long, Code: long, Source: long}
			v.Strategy += "# " + strings.Repeat("x", 30_000-len(v.Strategy)) + "\n"
		case *Assessment:
			v.Summary = long
			for range 100 {
				v.Hypotheses = append(v.Hypotheses, Hypothesis{long, long, long})
			}
		}
	})
	for _, n := range tr.notes {
		if len(n.Data) > ktrdr.InlineState || !json.Valid(n.Data) {
			t.Errorf("note %s has %d bytes", n.Key, len(n.Data))
		}
	}
	if len(tr.parent.State) > ktrdr.InlineState || len(tr.children) != 4 || tr.parent.Status != ktrdr.Completed {
		t.Errorf("state of %d bytes, %s", len(tr.parent.State), tr.parent.ErrorMessage)
	}
}

func TestResultHash_KnowsOnlyWhatMatters(t *testing.T) {
	base := assessed(t, someSpec(t), nil).result().ResultHash
	tr := plant(t, someSpec(t))
	tr.parent.ID, tr.parent.Session, tr.parent.Epoch = "op_agent_research_20270102_030405_ffffffff", 99, 7
	tr.ask(ktrdr.WhyCreated)
	tr.die(ktrdr.Failed, ktrdr.CodeBackendRestart, "lost")
	tr.ask(ktrdr.WhyChild)
	for tr.parent.Status == ktrdr.Running {
		tr.complete(func(v any) {
			if r, ok := v.(*jobs.TrainingResult); ok {
				r.Kernel = "another machine's"
			}
		})
		tr.ask(ktrdr.WhyChild)
	}
	if got := tr.result().ResultHash; got != base {
		t.Errorf("under another id, session and number of attempts it is %s, want %s", got, base)
	}
	elsewhere := someSpec(t)
	elsewhere.Run, elsewhere.Horizon = "run_b", "99"
	if got := assessed(t, elsewhere, nil).result().ResultHash; got != base {
		t.Errorf("in another run it is %s, want %s", got, base)
	}
	asked := someSpec(t)
	asked.Model = "test/m"
	without := assessed(t, asked, func(v any) {
		switch r := v.(type) {
		case *Design:
			r.Instead, r.Decisions = "it is away", []llm.TraceStep{{Model: "test/m", Latency: time.Second}}
		case *Assessment:
			r.Instead, r.Decisions = "it is away.", []llm.TraceStep{{Model: "test/m", Latency: time.Minute}}
		}
	}).result()
	if without.ResultHash != base {
		t.Errorf("where models were away it is %s, want %s", without.ResultHash, base)
	}
	if want := "Designed by the program itself instead of test/m: it is away. Assessed by the program itself instead of " +
		"test/m: it is away."; !strings.HasSuffix(without.Summary, want) {
		t.Errorf("it says %q, want it to end with %q", without.Summary, want)
	}
	longer := someSpec(t)
	longer.Holdout[0].Hash = mark(2)
	if got := assessed(t, longer, nil).result().ResultHash; got != base {
		t.Errorf("with another holdout it is %s, want %s: the hash ends at the finalist", got, base)
	}
	seed, bars := someSpec(t), someSpec(t)
	seed.Seed++
	bars.Bars[0].Hash = mark(1)
	seen := map[ktrdr.Hash]string{base: "the same"}
	for name, h := range map[string]ktrdr.Hash{
		"another seed": assessed(t, seed, nil).result().ResultHash,
		"other bars":   assessed(t, bars, nil).result().ResultHash,
		"other weights": assessed(t, someSpec(t), func(v any) {
			if r, ok := v.(*jobs.TrainingResult); ok {
				r.Model.SHA256 = mark(3)
			}
		}).result().ResultHash,
		"other trades": assessed(t, someSpec(t), func(v any) {
			if r, ok := v.(*jobs.BacktestResult); ok {
				r.Artifacts[0].SHA256 = mark(4)
			}
		}).result().ResultHash,
		"another verdict": assessed(t, someSpec(t), func(v any) {
			if r, ok := v.(*Assessment); ok {
				r.Verdict = evidence.Poor
			}
		}).result().ResultHash,
		"another strategy": assessed(t, someSpec(t), func(v any) {
			if r, ok := v.(*Design); ok {
				r.Strategy = strings.Replace(r.Strategy, "epochs: ", "epochs: 1", 1)
			}
		}).result().ResultHash,
	} {
		if other, ok := seen[h]; ok {
			t.Errorf("%s has the hash of %s", name, other)
		}
		seen[h] = name
	}
}

// shelf holds notes in memory. Its horizon counts them in the order of their
// keys.
type shelf map[string]ktrdr.Note

func (s shelf) Notes(_ context.Context, q ktrdr.NoteQuery) (page ktrdr.NotePage, err error) {
	var all []ktrdr.Note
	for _, n := range s {
		if n.Kind == q.Kind && (q.Run == "" || n.Run == q.Run) && (q.BeforeGeneration == nil || n.Generation < *q.BeforeGeneration) &&
			(q.Horizon == "" || n.Key <= q.Horizon) {
			all = append(all, n)
		}
	}
	slices.SortFunc(all, func(a, b ktrdr.Note) int { return strings.Compare(a.Key, b.Key) })
	if q.Order == ktrdr.NotesNewest {
		slices.Reverse(all)
	}
	first := 0
	_, _ = fmt.Sscan(q.Cursor, &first)
	last := min(first+q.Limit, len(all))
	page.Notes = all[first:last]
	if last < len(all) {
		page.Next = fmt.Sprint(last)
	}
	return page, nil
}

func TestMemory_DesignerSeesExactlyEarlierGenerationsAndTheHorizon(t *testing.T) {
	notes := shelf{}
	put := func(run string, generation, index int) {
		data, err := encode(Experiment{
			Name: fmt.Sprintf("%s.%d.%d", run, generation, index), Key: fmt.Sprintf("%s/%d/%d", run, generation, index),
		})
		if err != nil {
			t.Fatal(err)
		}
		n := ktrdr.Note{
			Kind: NoteExperiment, Key: RunPosition{run, generation, index}.Key(), Run: run, Generation: generation, Index: index, Data: data,
		}
		notes[n.Key] = n
	}
	for g := range 4 {
		for i := range 3 {
			put("a_before", g, i)
			put("m_mine", g, i)
			put("z_after", g, i)
		}
	}
	for g := range 5 {
		past, err := NewMemory(notes).Recall(t.Context(), View{Run: "m_mine", Generation: g, Horizon: "b"})
		if err != nil {
			t.Fatal(err)
		}
		var own, earlier int
		for _, e := range past.Experiments {
			switch {
			case strings.HasPrefix(e.Key, "m_mine"):
				own++
				if e.Generation >= g || e.Earlier {
					t.Errorf("generation %d sees %+v", g, e)
				}
			case strings.HasPrefix(e.Key, "a_before"):
				earlier++
				if !e.Earlier {
					t.Errorf("%+v is of an earlier run", e)
				}
			default:
				t.Errorf("generation %d sees %s, which came after its run began", g, e.Key)
			}
		}
		if want := 3 * min(g, 4); own != want || earlier != 12 {
			t.Errorf("generation %d sees %d of its run and %d of others, want %d and 12", g, own, earlier, want)
		}
	}
}

// Models are shown the end of what is told, so the newest stand there, and those
// are told as they were written.
func TestMemory_TheNewestComeLastAndWithTheirTexts(t *testing.T) {
	for _, own := range []int{0, 3, 40} {
		notes := shelf{}
		var want []string
		put := func(run string, index int) {
			key := fmt.Sprintf("%s/0/%04d", run, index)
			data, err := encode(Experiment{Strategy: "text of " + key, Key: key, Genome: &designer.Genome{}})
			if err != nil {
				t.Fatal(err)
			}
			notes[key] = ktrdr.Note{Kind: NoteExperiment, Key: key, Run: run, Index: index, Data: data}
			want = append(want, "text of "+key)
		}
		for i := range 150 {
			put("a_before", i)
		}
		for i := range own {
			put("m_mine", i)
		}
		for i := range len(want) - mostTexts {
			want[i] = ""
		}
		past, err := NewMemory(notes).Recall(t.Context(), View{Run: "m_mine", Generation: 1, Horizon: "b"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, e := range past.Experiments {
			if got = append(got, e.Strategy); e.Strategy != "" && e.Strategy != "text of "+e.Key {
				t.Errorf("%s has the %q", e.Key, e.Strategy)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("with %d of its own the texts are %q, want %q", own, got, want)
		}
	}
}

func TestMemory_ReadsAllPages(t *testing.T) {
	notes := shelf{}
	for i := range 1200 {
		n := ktrdr.Note{Kind: NoteExperiment, Key: fmt.Sprintf("r/0/%04d", i), Run: "r", Index: i, Data: json.RawMessage(`{}`)}
		notes[n.Key] = n
	}
	past, err := NewMemory(notes).Recall(t.Context(), View{Run: "r", Generation: 1})
	if err != nil || len(past.Experiments) != 1200 {
		t.Errorf("%d experiments, %v, want 1200", len(past.Experiments), err)
	}
	past, err = NewMemory(notes).Recall(t.Context(), View{Run: "other", Generation: 1})
	if err != nil || len(past.Experiments) != 0 {
		t.Errorf("%d of other runs without a horizon, %v, want none", len(past.Experiments), err)
	}
	past, err = NewMemory(notes).Recall(t.Context(), View{Run: "other", Generation: 1, Horizon: "z"})
	if err != nil || len(past.Experiments) != mostEarlier {
		t.Errorf("%d of other runs, %v, want %d", len(past.Experiments), err, mostEarlier)
	}
}

func TestMemory_NewestWordOnAHypothesisCounts(t *testing.T) {
	note := func(key, id string, s HypothesisStatus) ktrdr.Note {
		data, err := encode(HypothesisNote{ID: id, Text: "x", Status: s})
		if err != nil {
			t.Fatal(err)
		}
		return ktrdr.Note{Kind: NoteHypothesis, Key: key, Data: data}
	}
	list, err := NewMemory(shelf{
		"1": note("1", "a", Untested), "2": note("2", "b", Untested), "3": note("3", "a", Refuted),
	}).Hypotheses(t.Context(), 10)
	if err != nil || len(list) != 2 || list[0].Status != Refuted || list[1].ID != "b" {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestMemory_RecordsKnowTheirPlace(t *testing.T) {
	tr := assessed(t, someSpec(t), nil)
	list, next, err := NewMemory(shelf(tr.notes)).Records(t.Context(), ktrdr.NoteQuery{Limit: 10})
	if err != nil || next != "" || len(list) != 1 || list[0].RunPosition != (RunPosition{"run_a", 1, 2}) || list[0].Name != tr.texts.name ||
		list[0].Seed != 5 {
		t.Errorf("%+v, %q, %v", list, next, err)
	}
}
