package main

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/ktrdr/ktrdr"
)

// The files of a data folder, besides the database and the blobs.
const (
	tokenFile     = "token"      // the first admin token, for the CLI of the same user
	backendIDFile = "backend-id" // the backend's name through all its lives
)

// private makes everything this process creates readable by its user only.
func private() { syscall.Umask(0o077) }

// makeFolder makes the data folder, and refuses one that others may write to:
// they could put their own database there.
func makeFolder(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			info, err = os.Stat(dir)
		}
	}
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		return noFolder(dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("data folder %s: this user may not make it or look into it; choose another with --data", dir)
	case err != nil:
		return fmt.Errorf("data folder %s: %w; choose another with --data", dir, innermost(err))
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("data folder %s can be written by other users (mode %04o): run `chmod 700 %s`", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// noFolder refuses a data folder that is a file, or lies in one.
func noFolder(dir string) error {
	return usagef("data folder %s: it or a part of its path is a file and no directory; choose another with --data", dir)
}

var errNoToken = errors.New("holds no token")

// readToken reads a token file and refuses one that others can read.
func readToken(name string) (ktrdr.Secret, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("token file %s can be read by other users (mode %04o): run `chmod 600 %s`, and replace the token if they may have", name, info.Mode().Perm(), name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || !visible(token) {
		return "", fmt.Errorf("token file %s %w: the next start of a backend makes a new one", name, errNoToken)
	}
	return ktrdr.Secret(token), nil
}

// writeOnce writes a small file durably and whole, for its user only, or not
// at all.
func writeOnce(name, text string) error {
	_, err := writeWhole(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

// backendID returns the name this data folder gives its backend, and makes it
// on first use.
func backendID(dir string) (string, error) {
	name := filepath.Join(dir, backendIDFile)
	text, err := os.ReadFile(name)
	switch {
	case err == nil && strings.TrimSpace(string(text)) != "":
		return strings.TrimSpace(string(text)), nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	id := "backend-" + randomHex(8)
	return id, writeOnce(name, id+"\n")
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// freeDisk tells how many bytes an ordinary user may still write below dir.
func freeDisk(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free disk of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the fields' types differ by system
}
