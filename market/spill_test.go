package market

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestReadLarge_IsReadFile reads files that are long enough for temporary files, with what is
// right and wrong in them, both ways.
func TestReadLarge_IsReadFile(t *testing.T) {
	const rows = spillFrom + pieceRows + 1000
	text := minutes(rows).String()
	row := func(i int) int { return strings.Index(text, fmt.Sprintf("\n%d,", 1_000_000_020+60*i)) + 1 } // where it begins
	late, later := row(rows-500), row(rows-499)
	all := strings.SplitAfter(text, "\n")
	for name, c := range map[string]struct {
		text    string
		spilled bool
	}{
		"in order":       {text, true},
		"a row is wrong": {text[:late] + strings.Replace(text[late:later], ",1,1,", ",2,1,", 1) + text[later:], false},
		"a row is late":  {text[:row(100)] + text[row(101):later] + text[row(100):row(101)] + text[later:], false},
		"a row twice":    {text[:later] + text[late:later] + text[later:], false},
		"a row between":  {text[:later] + strings.Replace(text[late:later], "0,1", "7,1", 1) + text[later:], true},
		"blank lines":    {text[:late] + "\n\n" + text[late:], true},
		"newest first":   {all[0] + reversedRows(all[1:]), false},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "x.csv")
			if err := os.WriteFile(file, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			opt := ImportOptions{Symbol: "X", Source: "x"}
			want, wanted, wrong := ReadFile(t.Context(), file, opt)
			s := &spill{}
			defer s.Close()
			opt.spill = s
			got, rep, err := ReadFile(t.Context(), file, opt)
			if fmt.Sprint(err) != fmt.Sprint(wrong) {
				t.Fatalf("err = %v, want %v", err, wrong)
			}
			if diff := cmp.Diff(wanted, rep); diff != "" {
				t.Error(diff)
			}
			if (len(s.maps) > 0) != c.spilled {
				t.Errorf("%d columns are mapped, want some: %v", len(s.maps), c.spilled)
			}
			if wrong == nil && (got.Len() != want.Len() || got.Hash() != want.Hash()) {
				t.Errorf("%d bars, want %d with the same hash", got.Len(), want.Len())
			}
		})
	}
}

func reversedRows(rows []string) string {
	var b bytes.Buffer
	for _, row := range slices.Backward(rows) {
		b.WriteString(row)
	}
	return b.String()
}

func TestReadLarge_LeavesNoFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	file := filepath.Join(t.TempDir(), "x.csv")
	if err := os.WriteFile(file, minutes(spillFrom+2*pieceRows).Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	b, c, _, err := ReadLarge(t.Context(), file, ImportOptions{Symbol: "X"})
	if err != nil || b.Len() != spillFrom+2*pieceRows {
		t.Fatalf("%v", err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("files with names: %v, %v", left, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	t.Setenv("TMPDIR", filepath.Join(dir, "missing"))
	if _, _, _, err := ReadLarge(t.Context(), file, ImportOptions{}); err == nil || !strings.Contains(err.Error(), "missing") {
		t.Errorf("err = %v, want that the folder is missing", err)
	}
}
