//go:build !unix

package market

import (
	"io"
	"os"
	"unsafe"
)

// mapFile reads the first size bytes of f into memory of its own, beginning at a multiple of 8.
func mapFile(f *os.File, size int64) ([]byte, io.Closer, error) {
	words := make([]uint64, (size+7)/8)
	b := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size) //nolint:gosec // within words
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, nil, err
	}
	return b, io.NopCloser(nil), nil
}

// mapping is a file that is mapped. Here there are none.
type mapping []byte

func (mapping) unload() {}
