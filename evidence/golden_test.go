package evidence

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"
)

var update = flag.Bool("update", false, "rewrite testdata/*.golden.json")

// The JSON of verdicts and confirmations is stored and read by others: names,
// figures and sentences change only together with these files.
func TestJSON_IsTheGolden(t *testing.T) {
	lost := confirmed()
	negate(lost.Returns)
	for name, v := range map[string]any{
		"finalist": Judge(strong(), Rules{}), "empty_case": Judge(Case{}, Rules{}),
		"claim": Confirm(confirmed(), 2, Rules{}), "lost_look": Confirm(lost, 0, Rules{}), "empty_look": Confirm(Part{}, 0, Rules{}),
	} {
		got, err := json.MarshalIndent(v, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, '\n')
		path := filepath.Join("testdata", name+".golden.json")
		if *update {
			if err := os.WriteFile(path, got, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s differs; see go test ./evidence -update and git diff. got:\n%s", path, got)
		}
	}
}
