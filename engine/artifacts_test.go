package engine_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestCheckpoint_ChecksTheNamesAndNumberOfArtifacts(t *testing.T) {
	t.Parallel()
	l := newLab(t, nil)
	op := l.submit()
	task := l.claimOne()
	body := "bytes"
	hash := ktrdr.Hash(sha256.Sum256([]byte(body)))
	if _, err := l.PutBlob(t.Context(), hash, strings.NewReader(body)); err != nil {
		t.Fatal(err)
	}
	named := func(names ...string) []ktrdr.Artifact {
		var all []ktrdr.Artifact
		for _, name := range names {
			all = append(all, ktrdr.Artifact{Name: name, SHA256: hash, Size: int64(len(body))})
		}
		return all
	}
	numbered := func(n int) (names []string) {
		for i := range n {
			names = append(names, fmt.Sprintf("a%d", i))
		}
		return names
	}
	seq := int64(0)
	for situation, c := range map[string]struct {
		artifacts []ktrdr.Artifact
		want      string // empty: taken
	}{
		"no name":             {named(""), "1 to 128 bytes"},
		"a long name":         {named(strings.Repeat("x", 129)), "1 to 128 bytes"},
		"a name of 128 bytes": {named(strings.Repeat("x", 128)), ""},
		"another folder":      {named("../model"), "without /"},
		"the folder above":    {named(".."), "without /"},
		"this folder":         {named("."), "without /"},
		"a folder of Windows": {named(`a\b`), "without /"},
		"an escape":           {named("a\x1b[2J"), "visible text"},
		"a turned name":       {named("a\u202egpj.exe"), "visible text"},
		"not UTF-8":           {named("a\xff"), "visible text"},
		"the same twice":      {named("a", "b", "a"), "two artifacts"},
		"256":                 {named(numbered(256)...), ""},
		"257":                 {named(numbered(257)...), "at most 256 artifacts"},
	} {
		seq++
		_, err := l.Checkpoint(t.Context(), ktrdr.NewCheckpoint{
			Operation: op.ID, Epoch: task.Epoch, Seq: seq, Type: ktrdr.CheckpointPeriodic, State: []byte(`{}`), Artifacts: c.artifacts,
		})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v, want it taken", situation, err)
		case c.want != "" && (ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want CodeInvalid that says %q", situation, err, c.want)
		}
	}
}
