//go:build unix

package market

import (
	"io"
	"os"
	"slices"

	"golang.org/x/sys/unix"
)

type mapping []byte

// Close takes the file out of memory. Reading it afterwards crashes.
func (m mapping) Close() error {
	mappings.Lock()
	defer mappings.Unlock()
	mappings.all = slices.DeleteFunc(mappings.all, func(other mapping) bool { return &other[0] == &m[0] }) // no mapping is empty
	return unix.Munmap(m)
}

// unload takes the pages that were read out of memory. The system may leave them there, which is no error.
func (m mapping) unload() { _ = unix.Madvise(m, unix.MADV_DONTNEED) }

// mapFile maps the first size bytes of f, which its size was found to be.
func mapFile(f *os.File, size int64) ([]byte, io.Closer, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	mappings.Lock()
	defer mappings.Unlock()
	mappings.all = append(mappings.all, b)
	return b, mapping(b), nil
}
