package cli

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// A report with everything in it: researches of which one fails, operations that
// fail alike, a pause, and a backend that is killed and comes back.
func TestReport_DescribesARun(t *testing.T) {
	t.Parallel()
	l := newLab(t, "KTRDR_INJECT=fail:training:DOOMED", "TZ=Asia/Kolkata")
	l.refused(exitUnreachable, "start one with `ktrdr serve`", "report")
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "4000", "--seed", "7")
	p, said := l.serve("--workers", "2")
	if out := l.must("report"); !strings.Contains(out, "Nothing was researched.") {
		t.Errorf("a report of nothing:\n%s", out)
	}
	for range 2 {
		l.start("--steps", "5", "--step-ms", "1", "--checkpoint-every", "2", "--fail-at", "4")
	}
	long := l.start("--steps", "150", "--step-ms", "20", "--checkpoint-every", "5")
	l.until(long, "checkpointed", func(op ktrdr.Operation) bool { return op.Checkpoint != nil })
	l.must("pause")
	p.End(syscall.SIGKILL)
	var again backend.Announcement
	l.begin(&again, "serve", "--workers", "2", "--addr", strings.TrimPrefix(said.URL, "http://"))
	l.must("unpause")
	made := decode[research.Triggered](t, l.must("research", "trend on EURUSD 1h", "--seed", "3", "--bypass-gates", "--json"))
	doomed := decode[research.Triggered](t, l.must("research", "trend on EURUSD 1h DOOMED", "--seed", "4", "--force", "--json"))
	l.must("follow", long)

	r := l.reports("two researches that ended", func(r report.Report) bool { return r.Researches.Ended == 2 })
	if n := r.Researches; n.Outcomes["completed"] != 1 || n.Outcomes["failed"] != 1 || n.Trials != 2 {
		t.Errorf("researches %+v, want one of each and two trials", n)
	}
	if want := fmt.Sprintf("%s on 1 market; luck alone gives up to 0.02.", text.Counted(r.Researches.Claims, "claim")); r.Summary != want {
		t.Errorf("summary %q, want %q", r.Summary, want)
	}
	if len(r.Leaders) != 1 || r.Leaders[0].Operation != made.Operation {
		t.Errorf("the best are %+v, want %s alone: what failed is no leader", r.Leaders, made.Operation)
	}
	if m := r.Machine; m.BackendStarts != 2 || m.Requeued != 1 || len(m.Pauses) != 1 || m.Pauses[0].To.IsZero() {
		t.Errorf("the machine: %+v, want two starts, one operation taken over and one pause that ended", m)
	}
	if len(r.Failures) != 2 || r.Failures[0].Count != 2 || r.Failures[0].Resumable != 2 {
		t.Fatalf("failures %+v, want two alike and the research", r.Failures)
	}
	text := l.must("report")
	for _, f := range r.Failures {
		if !strings.Contains(text, "`"+f.Next+"`") {
			t.Errorf("%q is missing in:\n%s", f.Next, text)
		}
		l.must(strings.Fields(f.Next)[1:]...) // the next command can be typed as it is
	}
	if head, _, _ := strings.Cut(text, "\n"); !strings.Contains(head, " IST (") {
		t.Errorf("%q does not tell the times of a clock here", head)
	}

	of := l.reports("one run", func(r report.Report) bool { return true }, "--run", made.Run)
	if of.Run != made.Run || of.Researches.Ended != 1 || len(of.Failures) != 0 || of.From.Before(r.From) {
		t.Errorf("the run's report is %+v", of)
	}
	if spell := l.reports("the last spell", func(report.Report) bool { return true }, "--since", "last"); !spell.From.Equal(of.From) ||
		spell.Researches.Ended == 0 {
		t.Errorf("the last spell began %v with %d researches, want %v", spell.From, spell.Researches.Ended, of.From)
	}
	if out := l.must("report", "--run", doomed.Run, "--markdown"); !strings.HasPrefix(out, "# "+doomed.Run) {
		t.Errorf("Markdown:\n%s", out)
	}
	l.refused(exitUsage, `there is no run "run_nowhere"`, "report", "--run", "run_nowhere")
	l.refused(exitUsage, "--markdown or --json, not both", "report", "--json", "--markdown")
	l.refused(exitUsage, "such as 12h or 7d", "report", "--since", "yesterday")
}

// The work never comes to a checkpoint of its own: only the clock can make one.
func TestServe_CheckpointsByTheClockAsItsSettingsSay(t *testing.T) {
	t.Parallel()
	for name, is := range map[string]struct {
		env  []string
		want bool
	}{
		"every so often": {[]string{"CHECKPOINT_INTERVAL_SECONDS=0.2"}, true},
		"switched off":   {[]string{"CHECKPOINT_INTERVAL_SECONDS=0.2", "AUTO_CHECKPOINT=false"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for where, workers := range map[string]string{"inside the backend": "1", "in a process of its own": "0"} {
				l := newLab(t, is.env...)
				l.serve("--workers", workers, "--agents", "0")
				if workers == "0" {
					l.worker("--types", "dummy")
				}
				id := l.start("--steps", "60", "--step-ms", "20", "--checkpoint-every", "1000")
				l.must("follow", id)
				if n := strings.Count(l.must("events", id), "checkpoint periodic"); n > 0 != is.want {
					t.Errorf("%s: %d periodic checkpoints in 1.2 s of work, want some: %v", where, n, is.want)
				}
			}
		})
	}
}
