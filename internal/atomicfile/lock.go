package atomicfile

import (
	"errors"
	"os"
	"syscall"
)

// Lock locks a file, which flag may create, until it is closed or the process ends,
// however it ends. It is nil without an error when another process has the lock, or
// the file was replaced while it was being locked; fs.ErrNotExist when it is gone.
func Lock(name string, flag int) (*os.File, error) {
	f, err := os.OpenFile(name, os.O_RDWR|flag, 0o600)
	if err != nil {
		return nil, err
	}
	var is, now os.FileInfo
	if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == nil {
		is, err = f.Stat()
	}
	if err == nil {
		now, err = os.Stat(name)
	}
	if err == nil && os.SameFile(is, now) {
		return f, nil
	}
	_ = f.Close() // it holds nothing that counts
	if errors.Is(err, syscall.EWOULDBLOCK) || errors.Is(err, syscall.EINTR) {
		return nil, nil //nolint:nilnil // another process has it
	}
	return nil, err
}
