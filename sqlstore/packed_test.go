package sqlstore

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
)

// Rows of every lab are packed with it: an edit would make their results
// unreadable.
func TestPacked_TheDictionaryIsNeverEdited(t *testing.T) {
	sum := sha256.Sum256(dictionary)
	if got, want := hex.EncodeToString(sum[:]), "bf4982b99138a497924e01f14df82d07775a96e32e4a50df902f0fa4adb723af"; got != want {
		t.Errorf("the dictionary is %s, want %s", got, want)
	}
}

func TestPacked_IsReadBackAndShort(t *testing.T) {
	var p packer
	results := strings.Split(strings.TrimSpace(string(dictionary)), "\n")
	if len(results) != 5 {
		t.Fatalf("%d results in the dictionary, want those of a research and its four children", len(results))
	}
	for _, text := range append(results, "", "{}", strings.Repeat("ü\n\"\\ 🙂", 40_000)) {
		packed, err := p.pack(text)
		if err != nil {
			t.Fatal(err)
		}
		if len(text) > 1000 && len(packed) > len(text)/20 {
			t.Errorf("%d bytes are packed into %d, want a twentieth or less", len(text), len(packed))
		}
		got, err := unpack(packed)
		if err != nil || got != text {
			t.Errorf("%.100q is read back as %.100q, %v", text, got, err)
		}
	}
	packed, err := p.pack(results[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unpack(packed[:len(packed)/2]); err == nil {
		t.Error("half of it is read")
	}
	for _, bad := range [][]byte{{}, append([]byte{packedVersion + 1}, packed[1:]...)} {
		if _, err := unpack(bad); ktrdr.CodeOf(err) != ktrdr.CodeCorrupt {
			t.Errorf("unpack %.4x: %v, want CodeCorrupt", bad, err)
		}
	}
}
