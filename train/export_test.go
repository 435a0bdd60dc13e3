package train

import "crypto/sha256"

// Seal puts the right digest at the end of a stored run, so that a fuzzer gets
// past it.
func Seal(b []byte) []byte {
	if len(b) < sha256.Size {
		return b
	}
	body := append([]byte{}, b[:len(b)-sha256.Size]...)
	sum := sha256.Sum256(body)
	return append(body, sum[:]...)
}
