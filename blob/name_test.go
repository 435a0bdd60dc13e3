package blob

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
)

func TestNames_AreTheDocumentedLayout(t *testing.T) {
	h := hashOf(nil)
	const hex = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	if got, want := blobName(h), "e3/b0/"+hex; got != want {
		t.Errorf("blobName = %q, want %q", got, want)
	}
	if got, want := trashName(h, time.UnixMilli(1_700_000_000_123)), "trash/e3/b0/"+hex+".1700000000123"; got != want {
		t.Errorf("trashName = %q, want %q", got, want)
	}
}

// FuzzNames holds that a name is read only if it is exactly what is written: no
// file of another program, and no second spelling, is ever taken for a blob.
func FuzzNames(f *testing.F) {
	h := hashOf([]byte("seed"))
	good, trashed := blobName(h), trashName(h, time.UnixMilli(1_700_000_000_123))
	for _, s := range []string{
		"", "/", "..", good, trashed, "/" + good, "./" + good, "../" + good, good + "/", strings.ToUpper(good),
		good[:2] + "/" + good, good[6:], trashed + "0", trashed + ".1", strings.Replace(trashed, ".", ".+", 1),
		strings.Replace(trashed, ".", ".0", 1), strings.Replace(trashed, ".", ".-", 1), good + ".99999999999999999999",
		good[:10] + "\x00" + good[11:], strings.Replace(good, "/", "\\", 1), "tmp/" + good[6:],
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		if h, ok := parseBlob(name); ok && blobName(h) != name {
			t.Errorf("parseBlob(%q) = %s, which is written %q", name, h, blobName(h))
		}
		if e, ok := parseTrash(name); ok && trashName(e.Hash, e.At) != name {
			t.Errorf("parseTrash(%q) = %v, which is written %q", name, e, trashName(e.Hash, e.At))
		}
		h, err := ktrdr.ParseHash(name)
		if err == nil != (len(name) == 64 && strings.Trim(name, "0123456789abcdef") == "") {
			t.Errorf("ParseHash(%q) = %v", name, err)
		}
		if got, ok := parseBlob(blobName(h)); !ok || got != h {
			t.Errorf("blobName(%s) does not read back", h)
		}
	})
}
