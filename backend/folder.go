package backend

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
	TokenFile = "token"      // the first admin token, for the CLI of the same user
	IDFile    = "backend-id" // the backend's name through all its lives
)

// Private makes everything this process creates readable by its user only.
func Private() { syscall.Umask(0o077) }

// MakeFolder makes the data folder, and refuses one that others may write to:
// they could put their own database there.
func MakeFolder(dir string) error {
	info, err := os.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(dir, 0o700); err == nil {
			info, err = os.Stat(dir)
		}
	}
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		return NoFolder(dir)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("data folder %s: this user may not make it or look into it; choose another with --data", dir)
	case err != nil:
		return fmt.Errorf("data folder %s: %w; choose another with --data", dir, Innermost(err))
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("data folder %s can be written by other users (mode %04o): run `chmod 700 %s`", dir, info.Mode().Perm(), dir)
	}
	return nil
}

// NoFolder refuses a data folder that is a file, or lies in one.
func NoFolder(dir string) error {
	return wrong("data folder %s: it or a part of its path is a file and no directory; choose another with --data", dir)
}

// ErrNoToken is the error of a token file without a token.
var ErrNoToken = errors.New("holds no token")

// ReadToken reads a token file and refuses one that others can read.
func ReadToken(name string) (ktrdr.Secret, error) {
	info, err := os.Stat(name)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("token file %s can be read by other users (mode %04o): run `chmod 600 %s`, and replace the token if they may have",
			name, info.Mode().Perm(), name)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(text))
	if token == "" || !Visible(token) {
		return "", fmt.Errorf("token file %s %w: the next start of a backend makes a new one", name, ErrNoToken)
	}
	return ktrdr.Secret(token), nil
}

// WriteOnce writes a small file durably and whole, for its user only, or not
// at all.
func WriteOnce(name, text string) error {
	_, err := WriteFile(name, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
	return err
}

// backendID returns the name this data folder gives its backend, and makes it
// on first use.
func backendID(dir string) (string, error) {
	name := filepath.Join(dir, IDFile)
	text, err := os.ReadFile(name)
	switch {
	case err == nil && strings.TrimSpace(string(text)) != "":
		return strings.TrimSpace(string(text)), nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return "", err
	}
	id := "backend-" + randomHex(8)
	return id, WriteOnce(name, id+"\n")
}

func randomHex(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails since Go 1.24
	return hex.EncodeToString(b)
}

// FreeDisk tells how many bytes an ordinary user may still write below dir.
func FreeDisk(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("free disk of %s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the fields' types differ by system
}

// Visible says whether text has only visible ASCII characters, as tokens do.
func Visible(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}
