package sqlstore

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// LockFolder makes this process the one that uses a data folder until unlock
// is called or the process ends, however it ends. A second one is told who is
// there.
func LockFolder(dir string) (unlock func() error, err error) {
	name := filepath.Join(dir, "lock")
	f, err := atomicfile.Lock(name, os.O_CREATE)
	switch {
	case err != nil:
		return nil, fmt.Errorf("lock the data folder %s: %w", dir, err)
	case f == nil:
		holder, _ := os.ReadFile(name)
		return nil, fmt.Errorf("already running here as pid %s; stop it, or choose another folder than %s", bytes.TrimSpace(holder), dir)
	}
	// The file stays when the lock is given up: removing it would let a third
	// process lock a new file of the same name.
	if err := writePID(f); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock the data folder %s: %w", dir, err)
	}
	return f.Close, nil
}

// FolderHolder is the process that has locked the data folder, or "" when none
// has. It changes nothing. An error is what would keep LockFolder from locking.
func FolderHolder(dir string) (pid string, err error) {
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("lock the data folder: %w", err)
	}
	defer f.Close() // and with it the lock
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB)
	if !errors.Is(err, syscall.EWOULDBLOCK) {
		return "", err
	}
	text, err := os.ReadFile(f.Name())
	return string(bytes.TrimSpace(text)), err
}

func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}
