package compute

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/ktrdr/ktrdr"
)

func artifact(name string, b []byte) ktrdr.Artifact {
	return ktrdr.Artifact{Name: name, SHA256: sha256.Sum256(b), Size: int64(len(b))}
}

// hashOf is the sha256 of v as JSON. Keys are in the order of the fields, or
// sorted in a map, and numbers in their shortest form, so that the same value is
// the same text everywhere.
func hashOf(v any) (ktrdr.Hash, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return ktrdr.Hash{}, fmt.Errorf("result hash: %w", err)
	}
	return sha256.Sum256(text), nil
}
