package e2e

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
)

// sideBySide checks that a comparison and exported files say what the leaderboard
// says, that a dry run changes nothing, and that no row is of a sealed holdout.
func (l *lab) sideBySide(board report.Leaderboard) {
	l.t.Helper()
	var told research.Triggered
	l.parse(&told, "research", "trend on EURUSD 1h", "--count", "5", "--dry-run", "--json")
	p := told.Preview
	if p == nil || told.Run != "" || p.Count != 5 || p.Trials != board.Rows[0].MarketTrials || p.TrialsAfter != p.Trials+5 ||
		p.Seconds == nil {
		l.t.Fatalf("the dry run says %+v", p)
	}
	a, b := board.Rows[0].Operation, board.Rows[1].Operation
	var c report.Compared
	l.parse(&c, "compare", a.Tail(), string(b), "--json")
	if len(c.Strategies) != 2 || c.Strategies[0].Operation != a || c.Strategies[1].Trades != board.Rows[1].Trades ||
		c.Strategies[0].Trials != p.Trials || len(c.Looks) != board.Rows[0].MarketLooks {
		l.t.Fatalf("the comparison is %+v", c.Strategies)
	}
	for i, s := range c.Strategies {
		if opened := s.Look != nil; opened != board.Rows[i].LookEnded {
			l.t.Errorf("%s: the comparison shows a look: %v", s.Operation, opened)
		}
		for _, r := range s.Returns {
			if r.Time.After(p.Series[0].HoldoutFrom) {
				l.t.Errorf("%s has a return of %s on the test part; the holdout begins at %s", s.Operation, r.Time, p.Series[0].HoldoutFrom)
			}
		}
	}
	dir := l.t.TempDir()
	said := l.must("results", a.Tail(), "--csv", dir)
	if !strings.Contains(said, "equity.csv") {
		l.t.Errorf("exported:\n%s", said)
	}
	for name, column := range map[string]int{"equity.csv": 0, "positions.csv": 0, "trades.csv": 2} {
		for _, row := range l.rowsOf(filepath.Join(dir, name)) {
			if at, err := time.Parse(time.RFC3339, row[column]); err != nil || !at.Before(p.Series[0].HoldoutFrom) {
				l.t.Fatalf("%s has a row of %s (%v); the holdout begins at %s", name, row[column], err, p.Series[0].HoldoutFrom)
			}
		}
	}
	if n := len(l.rowsOf(filepath.Join(dir, "trades.csv"))); n != board.Rows[0].Trades {
		l.t.Errorf("%d trades, want %d", n, board.Rows[0].Trades)
	}
	l.must("memory", "export", "--parquet", dir, "--csv", dir)
	if n := len(l.rowsOf(filepath.Join(dir, "trials.csv"))); n != p.Trials {
		l.t.Errorf("%d trials, want %d", n, p.Trials)
	}
	if said, code := l.Command("memory", "export", "--csv", dir); code == 0 || !strings.Contains(said, "--force") {
		l.t.Errorf("an export over another: exit %d\n%s", code, said)
	}
}

func (l *lab) parse(into any, args ...string) {
	l.t.Helper()
	if err := json.Unmarshal([]byte(l.must(args...)), into); err != nil {
		l.t.Fatalf("ktrdr %s: %v", strings.Join(args, " "), err)
	}
}

// rowsOf are the rows of a CSV file below its head.
func (l *lab) rowsOf(file string) [][]string {
	l.t.Helper()
	f, err := os.Open(file)
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil || len(all) == 0 {
		l.t.Fatalf("%s: %v", file, err)
	}
	return all[1:]
}
