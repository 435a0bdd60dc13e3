package local

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr/market"
)

// A file whose name tells no symbol and that holds no prices is refused for what it holds:
// with a symbol it would be refused too.
func TestTargets_SayWhatAFileHoldsBeforeTheyAskForASymbol(t *testing.T) {
	const rows = "2020-01-02,1,1,1,1\n2020-01-03,1,1,1,1\n"
	const two = "Price,Close,Close,High,High,Low,Low,Open,Open\nTicker,A,B,A,B,A,B,A,B\nDate,,,,,,,,\n2020-01-02,1,2,1,2,1,2,1,2\n"
	for what, c := range map[string]struct{ text, says string }{
		"JSON":             {`{"Error Message": "the parameter apikey is invalid"}`, "line 1: this is JSON"},
		"a web page":       {"<!DOCTYPE html><html>", "line 1: this is a web page"},
		"several symbols":  {two, "columns of A and of B"},
		"an unknown name":  {"Date,Close/Last,High,Low,Open\n" + rows, "has no column for close"},
		"prices":           {"Date,Open,High,Low,Close\n" + rows, "does not tell the symbol"},
		"a row that lacks": {"Date,Open,High,Low,Close\n" + rows + "2020-01-04,1\n", "does not tell the symbol"},
	} {
		t.Run(what, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "my file.csv")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			_, err := Targets(t.Context(), []string{file}, Name{}, market.ImportOptions{})
			if err == nil || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %q", err, c.says)
			}
		})
	}
	_, err := Targets(t.Context(), []string{filepath.Join(t.TempDir(), "my file.csv")}, Name{}, market.ImportOptions{})
	if err == nil || !strings.Contains(err.Error(), "there is no price file") || strings.Contains(err.Error(), "--symbol") {
		t.Errorf("of a file that is not there: %v", err)
	}
}
