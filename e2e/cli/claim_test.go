package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/local"
)

// claimedRow finds the research of a table that is claimed.
var claimedRow = regexp.MustCompile(`(?m)^([0-9a-f]{8}) .* claimed`)

// reviseOldBars imports a series again after its source has changed an old bar of it.
func (l *lab) reviseOldBars(symbol, timeframe string) {
	l.t.Helper()
	path := filepath.Join(l.t.TempDir(), "revised.csv")
	l.must("data", "export", symbol, timeframe, "--csv", path)
	data, err := os.ReadFile(path)
	if err != nil {
		l.t.Fatal(err)
	}
	rows := strings.Split(string(data), "\n")
	rows[1000] += "1" // of its volume
	if err := os.WriteFile(path, []byte(strings.Join(rows, "\n")), 0o600); err != nil {
		l.t.Fatal(err)
	}
	l.must("data", "import", path, "--symbol", symbol, "--timeframe", timeframe, "--append")
	if all := decode[[]local.StoredSeries](l.t, l.must("data", "list", "--all", "--json")); len(all) != 2 {
		l.t.Fatalf("%d vintages of %s, want the one before and the revised one", len(all), symbol)
	}
}

// A claim of one lab is verified in an empty folder, and refused after it was edited.
func TestClaim_IsExportedAndVerifiedOnAnotherMachine(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "SYNTH", "--timeframe", "1h", "--bars", "20000", "--seed", "101", "--edge", "0.3")
	l.serve()
	l.must("research", "mean reversion on SYNTH 1h", "--count", "8", "--seed", "101", "--costs", "SYNTH=0.5/0/0", "--follow")
	found := claimedRow.FindStringSubmatch(l.must("leaderboard"))
	if found == nil {
		t.Fatal("the planted edge was not claimed")
	}
	l.reviseOldBars("SYNTH", "1h") // the claim is of the bars before

	file, report := filepath.Join(t.TempDir(), "claim.zip"), filepath.Join(t.TempDir(), "report.html")
	l.must("claim", "export", found[1], file, "--bars")
	l.must("report", "--since", "12h", "--html", report)

	other := newLab(t)
	said := other.must("claim", "verify", file, "--head", report)
	if !strings.Contains(said, "goes through the published head of 10 links") || !strings.HasSuffix(strings.TrimSpace(said), "Verified.") {
		t.Errorf("the claim is not verified:\n%s", said)
	}
	if said := other.must("claim", "verify", file); !strings.Contains(said, "a chain that was made again cannot be told") {
		t.Errorf("without a head it does not say what cannot be excluded:\n%s", said)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	edited := strings.Replace(string(data), `"commission":0.00005`, `"commission":0.00004`, 1)
	if err := os.WriteFile(file, []byte(edited), 0o600); err != nil {
		t.Fatal(err)
	}
	if a := other.run("claim", "verify", file); a.code != exitFailed {
		t.Errorf("an edited file is verified: %v", a)
	}
}
