package blob

import (
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
	"testing"
)

const benchSize = 1 << 20

// BenchmarkPut stores blobs of 1 MiB, beside the raw cost of writing and
// syncing a file of that size on the same disk.
func BenchmarkPut(b *testing.B) {
	b.Run("raw", func(b *testing.B) {
		dir, data := b.TempDir(), bytesOf(1, benchSize)
		b.SetBytes(benchSize)
		for b.Loop() {
			f, err := os.Create(filepath.Join(dir, "file"))
			if err != nil {
				b.Fatal(err)
			}
			if _, err := f.Write(data); err != nil {
				b.Fatal(err)
			}
			if err := f.Sync(); err != nil {
				b.Fatal(err)
			}
			f.Close()
		}
	})
	b.Run("dir", func(b *testing.B) {
		d, err := OpenDir(b.TempDir(), Config{})
		if err != nil {
			b.Fatal(err)
		}
		defer d.Close()
		data := bytesOf(1, benchSize)
		b.SetBytes(benchSize)
		for n := uint64(0); b.Loop(); n++ {
			binary.LittleEndian.PutUint64(data, n) // another blob each time
			if _, err := putBytes(b.Context(), d, data); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkRead reads and verifies a blob of 1 MiB.
func BenchmarkRead(b *testing.B) {
	d, err := OpenDir(b.TempDir(), Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	h, err := putBytes(b.Context(), d, bytesOf(1, benchSize))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(benchSize)
	for b.Loop() {
		if err := readBlob(b.Context(), d, h, io.Discard); err != nil {
			b.Fatal(err)
		}
	}
}
