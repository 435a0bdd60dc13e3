//go:build unix

package market

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

type mapping []byte

// Close takes the file out of memory. Reading it afterwards crashes.
func (m mapping) Close() error { return unix.Munmap(m) }

// mapFile maps the first size bytes of f, which its size was found to be.
func mapFile(f *os.File, size int64) ([]byte, io.Closer, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return b, mapping(b), nil
}
