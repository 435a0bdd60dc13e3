package cli

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/ktrdr/ktrdr/research"
)

func TestCLI_AGoalIsKeptLetterForLetter(t *testing.T) {
	t.Parallel()
	l := newLab(t)
	l.must("data", "synth", "--symbol", "EURUSD", "--timeframe", "1h", "--bars", "3000")
	l.serve("--workers", "0", "--agents", "0") // without agents it stays in its phase
	proof := filepath.Join(t.TempDir(), "it-ran")
	goal := `trend "on" bars; $(touch ` + proof + `) && it's 'quoted' \n %s {{.}} ` + "`touch " + proof + "`" +
		` ''' + __import__("os") | last words`
	made := decode[research.Triggered](t, l.must("research", goal, "--json"))
	var spec struct {
		Brief string `json:"brief"`
	}
	if err := json.Unmarshal(l.op(string(made.Operation)).Spec, &spec); err != nil || spec.Brief != goal {
		t.Errorf("the research is to\n%s (%v)\nwant\n%s", spec.Brief, err, goal)
	}
	if _, err := os.Stat(proof); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of the goal was run (%v)", err)
	}
}
