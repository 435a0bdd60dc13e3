package backend

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
)

// UserFile is a file that the user named to be read, and what to do when it cannot be.
type UserFile struct {
	What string // it should be: "strategy file"
	Name string
	Next string // "name one of …"
}

// Check refuses the name of a file that is not there, and a directory.
func (f UserFile) Check() error {
	info, err := os.Stat(f.Name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: f.Name, Err: syscall.EISDIR}
	}
	return f.Trouble(err)
}

// Open opens the file for reading, and refuses a directory.
func (f UserFile) Open() (*os.File, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	file, err := os.Open(f.Name)
	return file, f.Trouble(err)
}

// Trouble says what is wrong with the file, where err is the system's word about it;
// other errors stay as they are.
func (f UserFile) Trouble(err error) error {
	e, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return err
	case errors.Is(e, fs.ErrNotExist), errors.Is(e, syscall.ENOTDIR):
		return wrong("there is no %s %s; %s", f.What, f.Name, f.Next)
	case errors.Is(e, fs.ErrPermission):
		return wrong("this user may not read the %s %s; give it the right with `chmod`, or %s", f.What, f.Name, f.Next)
	case errors.Is(e, syscall.EISDIR):
		return wrong("%s is a directory and no %s; name a file in it", f.Name, f.What)
	}
	return fmt.Errorf("%s %s: %w", f.What, f.Name, e.Err)
}

// Certificate reads the certificate of a backend and its key.
func (c *Config) Certificate() (tls.Certificate, error) {
	const next = "name a certificate and its key with --tls-cert and --tls-key"
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		what := "certificate file"
		if e.Path == c.TLSKey && e.Path != c.TLSCert {
			what = "key file"
		}
		return cert, UserFile{what, e.Path, next}.Trouble(err)
	}
	if err != nil {
		return cert, wrong("%s and %s are no certificate and its key, both in PEM form: %w; %s", c.TLSCert, c.TLSKey, err, next)
	}
	return cert, nil
}

// WriteFile replaces a file that the user named, and returns its size.
func WriteFile(name string, write func(io.Writer) error) (size int64, err error) {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return 0, wrong("%s is a directory; name a file in it", name)
	}
	var failed error
	size, err = atomicfile.WriteFile(name, func(w io.Writer) error {
		failed = write(w)
		return failed
	})
	if failed == nil {
		err = unwritable(name, err)
	}
	return size, err
}

// CheckWritable says before work is done for a file that WriteFile cannot write it.
func CheckWritable(name string) error {
	if info, err := os.Stat(name); err == nil && info.IsDir() {
		return wrong("%s is a directory; name a file in it", name)
	}
	_, err := os.Stat(filepath.Dir(name))
	return unwritable(name, err)
}

func unwritable(name string, err error) error {
	dir := filepath.Dir(name)
	switch _, system := errors.AsType[*fs.PathError](err); {
	case !system:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return wrong("there is no directory %s to write %s in; make it with `mkdir -p %s`, or choose another name", dir,
			filepath.Base(name), ShellWord(dir))
	case errors.Is(err, syscall.ENOTDIR):
		return wrong("%s cannot be written: a part of its path is a file and no directory; choose another name", name)
	case errors.Is(err, fs.ErrPermission):
		return wrong("this user may not write in the directory %s; choose another name", dir)
	}
	return err
}

// wrong is a setting or an argument that must be changed.
func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }

// Innermost is the error that started it all.
func Innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
