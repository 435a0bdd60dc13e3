package ktrdr

import (
	"bytes"
	"encoding/json"
)

// ArtifactsIn finds every object in a JSON text that has an artifact's three
// members: name, sha256 and size. It is how a spec names its inputs and a
// result what it made.
func ArtifactsIn(text json.RawMessage) []Artifact {
	var v any
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return nil
	}
	return appendArtifacts(nil, v)
}

func appendArtifacts(found []Artifact, v any) []Artifact {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			found = appendArtifacts(found, item)
		}
	case map[string]any:
		name, named := v["name"].(string)
		text, _ := v["sha256"].(string)
		number, _ := v["size"].(json.Number)
		hash, badHash := ParseHash(text)
		size, badSize := number.Int64()
		if named && badHash == nil && badSize == nil {
			found = append(found, Artifact{Name: name, SHA256: hash, Size: size})
		}
		for _, member := range v {
			found = appendArtifacts(found, member)
		}
	}
	return found
}
