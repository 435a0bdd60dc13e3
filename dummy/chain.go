package dummy

import (
	"crypto/sha256"
	"encoding/binary"
	"math/rand/v2"

	"github.com/ktrdr/ktrdr"
)

// next is the chain after step i: sha256(h || seed || i), numbers big-endian.
// The chain before the first step is zero.
func next(h ktrdr.Hash, seed, i int64) ktrdr.Hash {
	var b [len(h) + 16]byte
	copy(b[:], h[:])
	binary.BigEndian.PutUint64(b[len(h):], uint64(seed))
	binary.BigEndian.PutUint64(b[len(h)+8:], uint64(i))
	return sha256.Sum256(b[:])
}

// link is a parent's chain after a child: sha256(h || child).
func link(h, child ktrdr.Hash) ktrdr.Hash {
	return sha256.Sum256(append(h[:], child[:]...))
}

// Expected returns the hash of a spec's result without running it.
func Expected(s Spec) string { return expected(s).String() }

func expected(s Spec) ktrdr.Hash {
	var h ktrdr.Hash
	for _, c := range s.Children {
		h = link(h, expected(c))
	}
	for i := range int64(s.Steps) {
		h = next(h, s.Seed, i+1)
	}
	return h
}

// noise makes the file that goes with a checkpoint: it looks random, and only
// the chain can make it again.
func noise(h ktrdr.Hash, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8(h).Read(b) // never fails
	return b
}
