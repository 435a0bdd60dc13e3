package page

import (
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/evidence"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

func TestOverview_ShowsClaimsAndFinalistsOnTheLadder(t *testing.T) {
	leader := func(id, strategy string, claim bool, l *research.Ladder) report.Leader {
		r := report.Leader{Trial: ktrdr.Trial{Operation: ktrdr.OperationID(id), Claim: claim}, Ladder: l}
		r.Strategy = strategy
		return r
	}
	claimed := leader("op_agent_research_20260101_000000_aaaaaaaa", "trend_1", true, &research.Ladder{Rungs: []research.LadderRung{
		{Rung: "finalist", Reached: true, P: new(0.0064)},
		{Rung: "candidate", Next: "Test it."},
		{Rung: "confirmed", Reached: true, P: new(0.002), Next: "nothing"},
		{Rung: "living", EValue: new(1.5), Next: "Import bars."},
	}})
	claimed.Calibration = "2 of 99 copies"
	claimed.Examination = &evidence.Examination{
		Summary: "Robust.", Paths: []evidence.Path{{Sharpe: new(3.66)}, {}, {Sharpe: new(4.36)}}, Seeds: []*float64{nil, new(-0.5), new(4.03)},
	}
	again := claimed
	finalist := leader("op_agent_research_20260101_000000_bbbbbbbb", "momentum_2", false, &research.Ladder{Rungs: []research.LadderRung{
		{Rung: "finalist", Reached: true, P: new(0.14)}, {Rung: "candidate"}, {Rung: "confirmed"}, {Rung: "living"},
	}})
	s := standsOf(&report.Report{
		Claims:  []report.Leader{claimed, again},
		Leaders: []report.Leader{claimed, finalist, leader("op_agent_research_20260101_000000_cccccccc", "poor", false, nil)},
	})
	if len(s.Rows) != 3 || s.Rows[2].Handle != "bbbbbbbb" {
		t.Fatalf("rows %+v, want both claims and then the finalist", s.Rows)
	}
	if want := []string{"Finalist", "Candidate", "Confirmed", "Living"}; !slices.Equal(s.Rungs, want) {
		t.Errorf("head %v, want %v", s.Rungs, want)
	}
	if want := []string{"2 of 99 copies"}; !slices.Equal(s.Notes, want) {
		t.Errorf("notes %v, want %v once", s.Notes, want)
	}
	row := s.Rows[0]
	if row.Rungs[0].Mark != "p" || row.Rungs[0].Number != "p = 0.0064" || row.Rungs[1].Mark != "o" || row.Rungs[3].Number != "e = 1.5" {
		t.Errorf("rungs %+v", row.Rungs)
	}
	if row.Paths != "3.66 to 4.36" || row.Seeds != "−0.50 to 4.03" || row.Examination != "Robust." {
		t.Errorf("paths %q, networks %q, examination %q", row.Paths, row.Seeds, row.Examination)
	}
	if want := []string{"Test it.", "Import bars."}; !slices.Equal(row.Next, want) {
		t.Errorf("next %q, want %q: not of a rung that is reached", row.Next, want)
	}
	if last := s.Rows[2]; last.Paths != missing || last.Seeds != missing || last.Examination != "" || last.Next != nil {
		t.Errorf("a finalist that was not examined: %+v", last)
	}
	if empty := standsOf(&report.Report{}); empty.Rows != nil {
		t.Errorf("without claims and finalists: %+v", empty)
	}
}
