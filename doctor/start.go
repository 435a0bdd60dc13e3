package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// start looks for everything for which `ktrdr serve` would refuse to start,
// besides the database and the blobs. It changes nothing.
func (d *doctor) start(ctx context.Context, running bool) {
	d.rights()
	holder, err := sqlstore.FolderHolder(d.cfg.Data)
	switch {
	case err != nil:
		d.bad("lock", "run this and the backend as the user who owns "+d.cfg.Data, "%v", err)
	case holder != "" && !running:
		d.bad("lock", "if it should not run there, stop process "+holder+"; if it should, name its address with --url",
			"process %s uses %s and does not answer; `ktrdr serve` would not start", holder, d.cfg.Data)
	case holder == "":
		d.address(ctx)
	}
	if d.cfg.UsesTLS() {
		if _, err := d.cfg.Certificate(); err != nil {
			d.bad("tls", "name a certificate and its key with --tls-cert and --tls-key", "%v", err)
		} else {
			d.good("tls", "%s", d.cfg.TLSCert)
		}
	}
	d.threads(ctx)
}

// rights looks for what this user may not read or write in the data folder.
func (d *doctor) rights() {
	names := []string{d.cfg.Data}
	for _, file := range []string{backend.IDFile, backend.TokenFile, "lock"} {
		names = append(names, filepath.Join(d.cfg.Data, file))
	}
	if file, ok := backend.SQLiteFile(d.cfg.Database()); ok {
		names = append(names, file, file+"-wal", file+"-shm")
	}
	for i, name := range names {
		rights := uint32(unix.R_OK | unix.W_OK)
		if i == 0 {
			rights |= unix.X_OK // it is the folder
		}
		if err := unix.Access(name, rights); err != nil && !errors.Is(err, fs.ErrNotExist) {
			d.bad("rights", fmt.Sprintf("run this and the backend as the user who owns it, or give it to this one with `chown -R %d %s`",
				os.Geteuid(), backend.ShellWord(d.cfg.Data)),
				"%s cannot be read and written by this user: %v", name, err)
			return
		}
	}
}

func (d *doctor) address(ctx context.Context) {
	l, err := backend.ListenOn(ctx, d.cfg.Addr)
	if err != nil {
		d.bad("address", "choose another with --addr, or stop the program that has it", "%v", err)
		return
	}
	_ = l.Close()
	d.good("address", "%s is free", d.cfg.Addr)
}

// threads looks at a store of its own for other programs' checkpoints.
func (d *doctor) threads(ctx context.Context) {
	at, own := d.cfg.ThreadsAt()
	if !own {
		return
	}
	if file, ok := backend.SQLiteFile(at); ok && backend.NoFile(file) {
		return // it is made
	}
	if _, err := sqlstore.Check(ctx, at); err != nil {
		d.bad("threads", "correct checkpointing.path, or repair what is named", "%v", err)
	}
}

// open looks at the database and the blobs without changing them. It is false
// when they are not to be opened: something was found, or they are not made.
func (d *doctor) open(ctx context.Context) bool {
	if err := backend.RefuseRestoring(d.cfg.Data); err != nil {
		d.bad("database", "run the restore again", "%v", err)
		return false
	}
	const restoreIt = "restore a backup into an empty folder with `ktrdr restore FILE --data DIR`"
	file, isFile := backend.SQLiteFile(d.cfg.Database())
	if isFile && backend.NoFile(file) {
		d.bad("database", "name the folder with --data, or start a backend with `ktrdr serve`, which makes one",
			"there is no database at %s", file)
		d.foreignBlobs(ctx, "")
		return false
	}
	status, err := sqlstore.Check(ctx, d.cfg.Database())
	if err != nil {
		fix := restoreIt + ", or repair what is named"
		switch ktrdr.CodeOf(err) {
		case ktrdr.CodeNoSpace:
			fix = "free some space where the database is"
		case ktrdr.CodeUnavailable:
			fix = "check that it is running, that this user may use it, and that its address is right"
		case ktrdr.CodeConflict:
			fix = "run the restore again"
		case ktrdr.CodeMismatch:
			fix = "use the newer ktrdr that made it"
		}
		d.bad("database", fix, "%v", err)
		return false
	}
	if status.Schema == 0 {
		lost := ""
		if isFile {
			lost = fmt.Sprintf("put %s-wal back beside the database if it was deleted or not copied: what was written last is in it; or ", file)
		}
		if !d.foreignBlobs(ctx, lost) {
			d.good("database", "%s has no tables yet; the next start of a backend makes them", backend.WithoutSecrets(d.cfg.Database()))
		}
		return false
	}
	if !d.belongs(ctx, status) {
		return false
	}
	if status.Schema < status.Newest {
		d.good("database", "%s has schema %d, and the next start of a backend brings it to %d; its content was not looked at",
			backend.WithoutSecrets(d.cfg.Database()), status.Schema, status.Newest)
		return false
	}
	return true
}

// foreignBlobs reports blobs that belong to another database: `ktrdr serve` refuses
// them. more is an additional remedy.
func (d *doctor) foreignBlobs(ctx context.Context, more string) bool {
	found, err := blob.Look(ctx, d.cfg.BlobRoot())
	switch {
	case err != nil:
		d.bad("blobs", "check that the folder or bucket exists and that this user may write to it", "%v", err)
	case found.Blobs:
		d.bad("blobs",
			more+"name the right database with --db or KTRDR_DB, or restore a backup into an empty folder with `ktrdr restore FILE --data DIR`",
			"%s holds blobs of another database, and the one at %s is new; `ktrdr serve` would not start", backend.WithoutQuery(d.cfg.BlobRoot()),
			backend.WithoutSecrets(d.cfg.Database()))
	default:
		return false
	}
	return true
}

// belongs compares the identity of the blobs with the one the database knows.
func (d *doctor) belongs(ctx context.Context, status sqlstore.Status) bool {
	found, err := blob.Look(ctx, d.cfg.BlobRoot())
	if err != nil {
		d.bad("blobs", "check that the folder or bucket exists and that this user may write to it", "%v", err)
		return false
	}
	if wrong := backend.WrongBlobs(d.cfg, status, found); wrong != "" {
		d.bad("blobs", backend.NameTheBlobs, "%s; `ktrdr serve` would not start", wrong)
		return false
	}
	return true
}
