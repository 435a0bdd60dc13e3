package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/ktrdr/ktrdr/fault"
	"github.com/ktrdr/ktrdr/internal/atomicfile"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/sqlstore"
)

// RestoringFile is in a data folder from before a restore changes anything
// there until everything is there: a folder with it is not for use.
const RestoringFile = "restoring"

type restoring struct {
	// Made are the names of what the restore makes in the folder. Another
	// restore may remove them: no other program has used the folder since.
	Made []string `json:"made"`

	// Database is an SQLite file outside of the folder that the restore makes.
	Database string `json:"database,omitempty"`
}

// RefuseRestoring refuses a folder into which a restore has begun and not
// ended.
func RefuseRestoring(dir string) error {
	name := filepath.Join(dir, RestoringFile)
	_, err := os.Lstat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case errors.Is(err, syscall.ENOTDIR):
		return NoFolder(dir)
	case err != nil:
		return fmt.Errorf("data folder: %w", err)
	}
	otherwise := "remove the folder"
	if used(dir) {
		otherwise = "remove " + name + " to use what was there before"
	}
	return fmt.Errorf("a restore into %s has not finished, so not everything is there: run `ktrdr restore FILE --data %s` again, "+
		"which starts over, or %s", dir, dir, otherwise)
}

// used says whether a backend has ever run on the folder.
func used(dir string) bool {
	_, err := os.Lstat(filepath.Join(dir, IDFile))
	return err == nil
}

// leftBehind reads what an earlier restore into the folder made before it was
// stopped.
func leftBehind(dir string) (restoring, error) {
	var r restoring
	name := filepath.Join(dir, RestoringFile)
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return r, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	for _, made := range r.Made {
		if err == nil && !filepath.IsLocal(made) {
			err = fmt.Errorf("%q is not in the folder", made)
		}
	}
	if err != nil {
		return r, fmt.Errorf("%s: %w; remove the folder, or restore into another", name, err)
	}
	return r, nil
}

// refuseDatabase refuses to restore where there is an SQLite database that no
// earlier restore made. One that a restore has not finished is added to what is
// left. Whether another database is empty is asked of itself.
func refuseDatabase(ctx context.Context, cfg Config, left *restoring) error {
	file, ok := SQLiteFile(cfg.Database())
	if !ok || slices.Contains(left.Made, within(cfg.Data, file)) {
		return nil
	}
	if file, ok = absolute(file); ok && file == left.Database {
		return nil
	}
	left.Database = "" // that of another command line is not this one's to remove
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		if sqlstore.Unfinished(ctx, file) {
			left.Database = file
			return nil
		}
		return fmt.Errorf("restore: there is a database at %s already: name a new folder with --data, or move the database away", file)
	}
	return nil
}

// markRestore marks a folder into which a restore has made nothing yet. unmark
// takes the mark away again, unless it was there before.
func markRestore(dir string) (unmark func() error, err error) {
	name := filepath.Join(dir, RestoringFile)
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return func() error { return nil }, err
	}
	return func() error { return endRestore(dir) }, WriteOnce(name, "{\"made\":[]}\n")
}

// beginRestore removes what an earlier restore left and marks the folder.
func beginRestore(cfg Config, left restoring) error {
	if err := left.remove(cfg.Data); err != nil {
		return err
	}
	fault.Hit(fault.RestoreCleared)
	var now restoring
	places := []string{cfg.BlobRoot()}
	if file, ok := SQLiteFile(cfg.Database()); ok {
		places = append(places, file)
	}
	for _, place := range places {
		if name := within(cfg.Data, place); name != "" {
			if _, err := os.Lstat(place); errors.Is(err, fs.ErrNotExist) {
				now.Made = append(now.Made, name)
			}
		}
	}
	if file, ok := SQLiteFile(cfg.Database()); ok && within(cfg.Data, file) == "" {
		now.Database, _ = absolute(file)
	}
	text, err := json.Marshal(now)
	if err != nil {
		return err
	}
	return WriteOnce(filepath.Join(cfg.Data, RestoringFile), string(text)+"\n")
}

func (r restoring) remove(dir string) error {
	all := text.Map(r.Made, func(made string) string { return filepath.Join(dir, made) })
	if r.Database != "" {
		all = append(all, r.Database)
	}
	for _, made := range all {
		for _, beside := range []string{"", "-wal", "-shm", "-journal"} { // of SQLite
			if err := os.RemoveAll(made + beside); err != nil {
				return fmt.Errorf("remove what a restore left: %w", err)
			}
		}
	}
	return nil
}

// undoRestore leaves the folder as it was before a restore that was refused.
func undoRestore(dir string) error {
	left, err := leftBehind(dir)
	if err == nil {
		err = left.remove(dir)
	}
	if err != nil {
		return err
	}
	return endRestore(dir)
}

// endRestore says that everything is there, or that nothing was changed.
func endRestore(dir string) error {
	err := os.Remove(filepath.Join(dir, RestoringFile))
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return errors.Join(err, atomicfile.Paths{}.SyncDir(dir))
}

// absolute is the whole path of a file; false when it cannot be told.
func absolute(file string) (string, bool) {
	path, err := filepath.Abs(file)
	return path, err == nil
}

// within is the name of place relative to dir, or "" when it is not in it.
func within(dir, place string) string {
	from, err1 := filepath.Abs(dir)
	to, err2 := filepath.Abs(place)
	name, err := filepath.Rel(from, to)
	if errors.Join(err, err1, err2) != nil || name == "." || !filepath.IsLocal(name) {
		return ""
	}
	return name
}
