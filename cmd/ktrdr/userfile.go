package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// userFile is a file that the user named to be read, and what to do when it cannot be.
type userFile struct {
	what string // it should be: "strategy file"
	name string
	next string // "name one of …"
}

// check refuses the name of a file that is not there, and a directory.
func (f userFile) check() error {
	info, err := os.Stat(f.name)
	if err == nil && info.IsDir() {
		err = &fs.PathError{Op: "read", Path: f.name, Err: syscall.EISDIR}
	}
	return f.trouble(err)
}

// open opens the file for reading, and refuses a directory.
func (f userFile) open() (*os.File, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	file, err := os.Open(f.name)
	return file, f.trouble(err)
}

// trouble says what is wrong with the file, where err is the system's word about it;
// other errors stay as they are.
func (f userFile) trouble(err error) error {
	e, ok := errors.AsType[*fs.PathError](err)
	switch {
	case !ok:
		return err
	case errors.Is(e, fs.ErrNotExist), errors.Is(e, syscall.ENOTDIR):
		return usagef("there is no %s %s; %s", f.what, f.name, f.next)
	case errors.Is(e, fs.ErrPermission):
		return usagef("this user may not read the %s %s; give it the right with `chmod`, or %s", f.what, f.name, f.next)
	case errors.Is(e, syscall.EISDIR):
		return usagef("%s is a directory and no %s; name a file in it", f.name, f.what)
	}
	return fmt.Errorf("%s %s: %w", f.what, f.name, e.Err)
}

// certificate reads the certificate of a backend and its key.
func (c *Config) certificate() (tls.Certificate, error) {
	const next = "name a certificate and its key with --tls-cert and --tls-key"
	cert, err := tls.LoadX509KeyPair(c.TLSCert, c.TLSKey)
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		what := "certificate file"
		if e.Path == c.TLSKey && e.Path != c.TLSCert {
			what = "key file"
		}
		return cert, userFile{what, e.Path, next}.trouble(err)
	}
	if err != nil {
		return cert, usagef("%s and %s are no certificate and its key, both in PEM form: %w; %s", c.TLSCert, c.TLSKey, err, next)
	}
	return cert, nil
}

// unwritable says why a file that the user named cannot be written.
func unwritable(name string, err error) error {
	dir := filepath.Dir(name)
	switch _, system := errors.AsType[*fs.PathError](err); {
	case !system:
		return err
	case errors.Is(err, fs.ErrNotExist):
		return usagef("there is no directory %s to write %s in; make it with `mkdir -p %s`, or choose another name", dir, filepath.Base(name), shellWord(dir))
	case errors.Is(err, syscall.ENOTDIR):
		return usagef("%s cannot be written: a part of its path is a file and no directory; choose another name", name)
	case errors.Is(err, fs.ErrPermission):
		return usagef("this user may not write in the directory %s; choose another name", dir)
	}
	return err
}
