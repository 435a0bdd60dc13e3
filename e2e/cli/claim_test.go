package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// claimedRow finds the research of a table that is claimed.
var claimedRow = regexp.MustCompile(`(?m)^([0-9a-f]{8}) .* claimed`)

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
