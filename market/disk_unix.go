//go:build unix

package market

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// mapping is a file in memory.
type mapping []byte

// Close takes the file out of memory. Whoever still reads it crashes.
func (m mapping) Close() error { return unix.Munmap(m) }

// mapFile maps the first size bytes of f, which its size was found to be.
func mapFile(f *os.File, size int64) ([]byte, io.Closer, error) {
	b, err := unix.Mmap(int(f.Fd()), 0, int(size), unix.PROT_READ, unix.MAP_SHARED)
	if err != nil {
		return nil, nil, os.NewSyscallError("mmap", err)
	}
	return b, mapping(b), nil
}

// syncDir makes the names in a folder outlive a power cut.
func syncDir(root *os.Root, name string) error {
	d, err := root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
