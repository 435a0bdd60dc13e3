package blob

import (
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

const (
	tempDir      = "tmp"
	trashDir     = "trash"
	identityName = "identity"
)

// shard is the directory of a blob: two levels of 256, so that a directory
// stays small with millions of blobs.
func shard(h ktrdr.Hash) string {
	hex := h.String()
	return path.Join(hex[:2], hex[2:4])
}

func blobName(h ktrdr.Hash) string { return path.Join(shard(h), h.String()) }

// trashName is where a blob goes when it is trashed at an instant. The instant is in the name: to
// delete what was trashed then can never delete what was trashed later.
func trashName(h ktrdr.Hash, at time.Time) string {
	return path.Join(trashDir, fmt.Sprintf("%s.%d", blobName(h), at.UnixMilli()))
}

// parseBlob reads what blobName made; anything else is no blob of ours.
func parseBlob(name string) (ktrdr.Hash, bool) {
	h, err := ktrdr.ParseHash(path.Base(name))
	return h, err == nil && blobName(h) == name
}

// parseTrash reads what trashName made.
func parseTrash(name string) (Trashed, bool) {
	hex, ms, _ := strings.Cut(path.Base(name), ".")
	h, err := ktrdr.ParseHash(hex)
	if err != nil {
		return Trashed{}, false
	}
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return Trashed{}, false
	}
	t := Trashed{Hash: h, At: time.UnixMilli(n)}
	return t, trashName(h, t.At) == name
}

// isShard says whether a directory entry can be one level of a shard.
func isShard(name string) bool {
	return len(name) == 2 && strings.Trim(name, "0123456789abcdef") == ""
}
