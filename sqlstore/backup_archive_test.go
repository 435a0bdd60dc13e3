package sqlstore

import (
	"bytes"
	"slices"
	"testing"

	"github.com/ktrdr/ktrdr"
)

func TestVerifyBackup_RefusesWhatComesAfterTheEnd(t *testing.T) {
	archive := mustBackup(t, openTest(t, InstalledSQLite(t), migrations), blobMap{})
	for name, c := range map[string]struct {
		after []byte
		want  ktrdr.Code
	}{
		"nothing":                   {nil, ""},
		"zeros":                     {make([]byte, 100_000), ""},
		"a byte":                    {[]byte("x"), ktrdr.CodeCorrupt},
		"junk after zeros":          {append(make([]byte, 100_000), 'x'), ktrdr.CodeCorrupt},
		"the same archive again":    {archive, ktrdr.CodeCorrupt},
		"bytes that are not a text": {[]byte{0xff, 0xfe}, ktrdr.CodeCorrupt},
	} {
		if err := VerifyBackup(t.Context(), bytes.NewReader(slices.Concat(archive, c.after))); ktrdr.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want code %q", name, err, c.want)
		}
	}
}
