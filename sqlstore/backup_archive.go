package sqlstore

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr"
)

// The last entry of a backup proves the others: it is the sha256, in hex, over
// "NAME SIZE\n" and the bytes of each entry before it, in their order.

func sumEntry(sum hash.Hash, name string, size int64) {
	fmt.Fprintf(sum, "%s %d\n", name, size)
}

// archive is a backup that is being read, and the hash over what was read.
type archive struct {
	from io.Reader
	tar  *tar.Reader
	sum  hash.Hash
}

func newArchive(from io.Reader) *archive { return &archive{from, tar.NewReader(from), sha256.New()} }

// next goes to the next entry, whatever is left of this one.
func (a *archive) next() (name string, err error) {
	if _, err := io.Copy(io.Discard, a); err != nil {
		return "", unreadable(err)
	}
	h, err := a.tar.Next()
	if err != nil {
		return "", unreadable(err)
	}
	if h.Name != sumName {
		sumEntry(a.sum, h.Name, h.Size)
	}
	return h.Name, nil
}

// Read reads from the entry.
func (a *archive) Read(p []byte) (int, error) {
	n, err := a.tar.Read(p)
	a.sum.Write(p[:n])
	return n, err
}

// manifest reads the first entry and refuses what is not for us.
func (a *archive) manifest() (m manifest, err error) {
	if name, err := a.next(); err != nil || name != manifestName {
		return m, ktrdr.Errorf(ktrdr.CodeInvalid, "this is not a backup of ktrdr")
	}
	if err := json.NewDecoder(a).Decode(&m); err != nil {
		return m, ktrdr.Errorf(ktrdr.CodeInvalid, "the backup's manifest cannot be read: %w", err)
	}
	if m.Format != backupFormat {
		return m, ktrdr.Errorf(ktrdr.CodeInvalid, "the backup is in format %d and this ktrdr knows only %d: use the ktrdr that made it (%s)",
			m.Format, backupFormat, m.CreatedBy)
	}
	return m, nil
}

// proven compares everything that was read with the last entry, which is the
// current one.
func (a *archive) proven() error {
	read := a.sum.Sum(nil)
	text, err := io.ReadAll(io.LimitReader(a.tar, 2*sha256.Size+2))
	if err != nil {
		return unreadable(err)
	}
	if strings.TrimSpace(string(text)) != hex.EncodeToString(read) {
		return ktrdr.Errorf(ktrdr.CodeCorrupt,
			"the backup was changed or damaged after it was written: its checksum is not that of its contents; use another backup")
	}
	if _, err := a.tar.Next(); !errors.Is(err, io.EOF) {
		return addedTo()
	}
	return a.padding()
}

// padding reads what comes after the archive. Tapes and tools fill it up with
// zeros; anything else is not ours.
func (a *archive) padding() error {
	piece := make([]byte, 32<<10)
	for {
		n, err := a.from.Read(piece)
		if len(bytes.TrimLeft(piece[:n], "\x00")) > 0 {
			return addedTo()
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return unreadable(err)
		}
	}
}

func addedTo() error {
	return ktrdr.Errorf(ktrdr.CodeCorrupt, "something was added to the backup after its end; use another backup")
}

func unreadable(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return ktrdr.Errorf(ktrdr.CodeCorrupt, "the backup is cut off: its end is missing")
	}
	return ktrdr.Errorf(ktrdr.CodeCorrupt, "the backup cannot be read: %w", err)
}

// VerifyBackup reads a backup to its end and refuses one that Restore would
// refuse whatever the store: CodeInvalid when it is no backup of ktrdr, CodeCorrupt
// when it is cut off or not what was written.
func VerifyBackup(ctx context.Context, from io.Reader) error {
	a := newArchive(from)
	_, err := a.manifest()
	for err == nil {
		if err = ctx.Err(); err != nil {
			break
		}
		var name string
		if name, err = a.next(); err == nil && name == sumName {
			return a.proven()
		}
	}
	return err
}
