package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/internal/term"
	"github.com/ktrdr/ktrdr/market"
)

func TestPrintFindings_GroupsLargeNumbers(t *testing.T) {
	var out bytes.Buffer
	PrintFindings(&out, &market.DataReport{Counts: map[market.Rule]int{market.Duplicate: 94_594}}, false)
	if !strings.Contains(out.String(), "and 94,594 more; -v shows up to 100\n") {
		t.Errorf("printed %q", out.String())
	}
}

// What -v promises is what a report has.
func TestPrintFindings_ShowsAsManyAsItSays(t *testing.T) {
	_, rep, err := market.ReadCSV(strings.NewReader("time,open,high,low,close\n2020-01-02,1,1,1,1\n"+strings.Repeat("never,1,1,1,1\n", 150)),
		market.ImportOptions{Symbol: "X", Timeframe: market.D1})
	if err == nil {
		t.Fatal("the file was not refused")
	}
	for verbose, want := range map[bool]struct {
		rows int
		more string
	}{
		false: {20, "  and 130 more; -v shows up to 100\n"},
		true:  {100, "  and 50 more\n"},
	} {
		var out bytes.Buffer
		PrintFindings(&out, &rep, verbose)
		if n := strings.Count(out.String(), "unreadable"); n != want.rows || !strings.Contains(out.String(), want.more) {
			t.Errorf("-v %v: %d findings are printed, want %d and %q:\n%s", verbose, n, want.rows, want.more, &out)
		}
	}
}

// --normalise repairs rows. It does not repair what is doubtful in their content.
func TestCheck_DoesNotSendToNormaliseForWhatItLeaves(t *testing.T) {
	var rows strings.Builder
	rows.WriteString("time,open,high,low,close\n")
	at := time.Date(2015, 1, 5, 0, 0, 0, 0, time.UTC)
	for i := range 600 {
		price := 100 + float64(i*i*7%13)/10
		if i > 300 {
			price /= 2
		}
		fmt.Fprintf(&rows, "%s,%.3f,%.3f,%.3f,%.3f\n", at.AddDate(0, 0, i).Format(time.DateOnly), price, price+.1, price-.1, price)
	}
	file := filepath.Join(t.TempDir(), "SPLT_1d.csv")
	if err := os.WriteFile(file, []byte(rows.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	checked := (&Importer{}).Check(t.Context(), file)
	var out bytes.Buffer
	checked.Print(&out, term.Palette(false), false)
	if said := out.String(); checked.OK || strings.Contains(said, "--normalise") ||
		!strings.Contains(said, "  → no research would begin on these bars. Mend the file, or import it and, if the bars are right: "+
			"ktrdr data accept SPLT 1d level-jump repeated-day\n") {
		t.Errorf("checked:\n%s", said)
	}
}

// Where no row can be read, each finding says the same, and --normalise would leave out every row.
func TestImported_OfAFileThatCannotBeReadIsShort(t *testing.T) {
	_, rep, err := market.ReadCSV(strings.NewReader("time,open,high,low,close\n"+strings.Repeat("never,1,1,1,1\n", 150)),
		market.ImportOptions{Symbol: "X", Timeframe: market.D1})
	if err == nil {
		t.Fatal("the file was not refused")
	}
	var out bytes.Buffer
	Imported{File: "x.csv", Report: rep, Error: err.Error(), refused: true}.Print(&out, term.Palette(false), false)
	if n := strings.Count(out.String(), "unreadable"); n != 3 || strings.Contains(out.String(), "--normalise") ||
		!strings.Contains(out.String(), "no row can be read") {
		t.Errorf("%s", &out)
	}
}
