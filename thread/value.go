package thread

import (
	"encoding/json"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// Value is one serialised value: a type that the server never interprets, and
// bytes (base64 on the wire).
type Value struct {
	Type  string `json:"t"`
	Bytes []byte `json:"b"`
}

// InlineValue is the size in bytes of the largest value that a row of the main
// store holds. A larger value becomes a blob that the row names.
const InlineValue = 64 << 10

// BlobPrefix begins the type of a value whose bytes are in a blob. A client's
// own type must not begin with it.
const BlobPrefix = `{"ktrdr_blob":`

// blobType is that type.
type blobType struct {
	Blob ktrdr.Artifact `json:"ktrdr_blob"`
}

// BlobValue is the row's value in place of a value of the given type whose bytes
// are in a blob. Its type names the blob, so that a search for references reads
// only texts; its bytes are the original type.
func BlobValue(kind string, blob ktrdr.Artifact) Value {
	text, _ := json.Marshal(blobType{blob}) // a name, a hash and a number always marshal
	return Value{Type: string(text), Bytes: []byte(kind)}
}

// Blob returns the original type and the blob of a BlobValue; false when v is
// an ordinary value.
func (v Value) Blob() (kind string, blob ktrdr.Artifact, ok bool) {
	var t blobType
	if !strings.HasPrefix(v.Type, BlobPrefix) || json.Unmarshal([]byte(v.Type), &t) != nil {
		return "", ktrdr.Artifact{}, false
	}
	return string(v.Bytes), t.Blob, true
}
