package compute

import (
	"cmp"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

const (
	settled       = 10 * time.Second // since its last change, before a file is read
	mostFiles     = 10_000           // price files in a folder
	filesAtOnce   = 20               // that are read before other series have their turn
	mostFileBytes = 2 << 30
)

// folderWatch is what a Follower knows of a folder. All of it can be found out again.
type folderWatch struct {
	known map[fileVersion]bool // that have an operation
	files map[string]*watchedFile
}

// fileVersion is the content of a file. It is imported once: who corrects bars afterwards
// does not find them as they were before.
type fileVersion struct {
	name string
	hash ktrdr.Hash
}

// watchedFile is a file as it was when it was looked at last.
type watchedFile struct {
	size    int64
	changed time.Time

	symbol    string
	timeframe market.Timeframe
	done      bool // its content has an operation, or can have none
}

// FollowedFolder is the path of a folder that may be followed, without links. data is the
// data folder of the lab. CodeInvalid says what is wrong.
func FollowedFolder(data, folder string) (string, error) {
	if !filepath.IsAbs(folder) {
		return "", wrong("the folder %q is not absolute: write it from the root on", folder)
	}
	at, err := filepath.EvalSymlinks(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return "", wrong("there is no folder %s on this machine: the folder must be where the backend runs", folder)
	}
	if err != nil {
		return "", wrong("the folder %s cannot be read: %w", folder, err)
	}
	info, err := os.Stat(at)
	if err != nil {
		return "", wrong("the folder %s cannot be read: %w", folder, err)
	}
	if !info.IsDir() {
		return "", wrong("%s is no folder: name the folder that the files are put into", folder)
	}
	own, err := filepath.EvalSymlinks(data)
	if err == nil {
		own, err = filepath.Abs(own)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("data folder: %w", err)
	}
	if rel, err := filepath.Rel(own, at); err == nil && filepath.IsLocal(rel) {
		return "", wrong("the folder %s is in the data folder of the lab: choose one outside %s", folder, data)
	}
	return at, nil
}

// watch starts imports of the files of a folder that are new or were changed; done says that
// the turn needs no more. Of each symbol one is under way at a time, the one that was changed
// first before the others, so that where files differ the newest wins.
func (f *Follower) watch(ctx context.Context, s jobs.Follow, turn int64) (started []ktrdr.Operation, done bool, err error) {
	w, err := f.folder(ctx, s.Folder)
	if err != nil {
		return nil, false, err
	}
	dir, infos, err := w.look(f.desk.cfg.Dir, s.Folder)
	if err != nil {
		return nil, !again(err), err
	}
	busy, err := f.busy(ctx, s.Folder)
	if err != nil {
		return nil, false, err
	}
	var problems []error
	read, later := 0, false
	for _, info := range infos {
		file := w.files[info.Name()]
		if file.done || !untouched(info, time.Now()) {
			continue
		}
		if read == filesAtOnce {
			later = true
			break
		}
		file.identify(ctx, dir, info.Name(), s)
		if busy[file.symbol] {
			later = true
			continue
		}
		read++
		op, err := f.load(ctx, s, turn, w, filepath.Join(dir, info.Name()), info)
		switch {
		case err != nil:
			problems = append(problems, fmt.Errorf("%s: %w", info.Name(), err))
			file.done, later = !again(err), later || again(err)
		case op.ID != "":
			started, busy[file.symbol] = append(started, op), true
		}
	}
	return started, !later, errors.Join(problems...)
}

// folder is what is known of a folder, at first from the operations.
func (f *Follower) folder(ctx context.Context, path string) (*folderWatch, error) {
	if w := f.folders[path]; w != nil {
		return w, nil
	}
	w := &folderWatch{known: map[fileVersion]bool{}, files: map[string]*watchedFile{}}
	err := eachOperation(ctx, f.desk.cfg.Operations, ktrdr.DataLoad, func(op ktrdr.Operation) bool {
		if spec, err := ktrdr.ParseSpec[jobs.LoadSpec](op.Spec); err == nil && spec.Folder == path {
			w.known[fileVersion{spec.Source.Name, spec.Source.SHA256}] = true
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	f.folders[path] = w
	return w, nil
}

// eachOperation gives every operation of a type, the newest first, until one is enough.
func eachOperation(ctx context.Context, ops Operations, t ktrdr.Type, more func(ktrdr.Operation) bool) error {
	q := ktrdr.OperationQuery{Type: []ktrdr.Type{t}, Limit: 1000}
	for {
		page, err := ops.List(ctx, q)
		if err != nil {
			return err
		}
		for _, op := range page.Operations {
			if !more(op) {
				return nil
			}
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			return nil
		}
	}
}

// look reads the folder. A file that differs from what it was is not known any more.
func (w *folderWatch) look(data, folder string) (dir string, infos []fs.FileInfo, err error) {
	dir, infos, err = priceFiles(data, folder)
	files := make(map[string]*watchedFile, len(infos))
	for _, info := range infos {
		file := w.files[info.Name()]
		if file == nil || file.size != info.Size() || !file.changed.Equal(info.ModTime()) {
			file = &watchedFile{size: info.Size(), changed: info.ModTime()}
		}
		files[info.Name()] = file
	}
	if err == nil {
		w.files = files
	}
	return dir, infos, err
}

// priceFiles are the price files of a folder, those that were changed first before the others.
// Folders and links in it are not read.
func priceFiles(data, folder string) (dir string, infos []fs.FileInfo, err error) {
	if dir, err = FollowedFolder(data, folder); err != nil {
		return "", nil, err
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "", nil, wrong("the folder %s cannot be read: %w", folder, err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !market.IsPriceName(e.Name()) {
			continue
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", nil, wrong("the folder %s cannot be read: %w", folder, err)
		}
		infos = append(infos, info)
	}
	if len(infos) > mostFiles {
		return "", nil, wrong("%s has %d price files; at most %d are followed: move the old ones away", folder, len(infos), mostFiles)
	}
	slices.SortFunc(infos, func(a, b fs.FileInfo) int {
		return cmp.Or(a.ModTime().Compare(b.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	return dir, infos, nil
}

// untouched says that a file seems to be written to its end. Clocks of file servers may be ahead.
func untouched(info fs.FileInfo, now time.Time) bool { return now.Sub(info.ModTime()).Abs() >= settled }

// identify finds out of which series a file is: as its name says, else as its rows do.
func (file *watchedFile) identify(ctx context.Context, dir, name string, s jobs.Follow) {
	if file.symbol != "" {
		return
	}
	var ok bool
	if file.symbol, file.timeframe, ok = market.NamedSeries(name); !ok {
		opt := market.ImportOptions{Divide: s.Divide}
		if zone, err := time.LoadLocation(s.Zone); err == nil && s.Zone != "" {
			opt.Zone = zone
		}
		file.symbol, file.timeframe, _ = market.Peek(ctx, filepath.Join(dir, name), "", opt) // its import says what is wrong
	}
}

// busy are the symbols of which an import of the folder is under way.
func (f *Follower) busy(ctx context.Context, folder string) (map[string]bool, error) {
	active, err := f.active(ctx, ktrdr.DataLoad)
	busy := map[string]bool{}
	for _, op := range active {
		if spec, err := ktrdr.ParseSpec[jobs.LoadSpec](op.Spec); err == nil && spec.Folder == folder {
			busy[spec.Symbol] = true
		}
	}
	return busy, err
}

// load starts the import of a file. It starts none of a content that had one, and none while
// the file is written.
func (f *Follower) load(ctx context.Context, s jobs.Follow, turn int64, w *folderWatch, path string,
	was fs.FileInfo,
) (ktrdr.Operation, error) {
	var none ktrdr.Operation
	file, name := w.files[was.Name()], was.Name()
	if err := file.refused(name, was.Size()); err != nil {
		return none, err
	}
	r, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return none, nil // it was taken away
	}
	if err != nil {
		return none, wrong("it cannot be read: %w", err)
	}
	defer func() { _ = r.Close() }() // only read
	source, err := f.desk.store(ctx, name, r)
	if err != nil {
		return none, err
	}
	is, err := r.Stat()
	if err != nil {
		return none, err
	}
	if is.Size() != was.Size() || source.Size != was.Size() || !is.ModTime().Equal(was.ModTime()) {
		return none, nil // it is being written: the next turn reads it
	}
	version := fileVersion{name, source.SHA256}
	if w.known[version] {
		file.done = true
		return none, nil
	}
	spec, err := f.desk.loadSpec(ctx, jobs.DataLoadRequest{
		SHA256: source.SHA256.String(), Name: name, Symbol: file.symbol, Timeframe: string(file.timeframe),
		Zone: s.Zone, Divide: s.Divide, Mode: string(jobs.ImportAppend),
	})
	if err != nil {
		return none, err
	}
	spec.Folder, spec.Turn = s.Folder, turn
	sum := sha256.Sum256([]byte(s.Folder + "\x00" + name))
	op, err := f.submit(ctx, ktrdr.DataLoad, spec, spec.Symbol, fmt.Sprintf("follow file %x %s", sum, source.SHA256))
	if err == nil {
		file.done, w.known[version] = true, true
	}
	return op, err
}

// refused says why no import of a file can be started; nil if one can.
func (file *watchedFile) refused(name string, size int64) error {
	switch {
	case file.symbol == "":
		return wrong("neither its name nor its rows tell the symbol: rename it, for example to EURUSD_1h%s", text.Cut(filepath.Ext(name), 20))
	case size > mostFileBytes:
		return wrong("it has %d MiB; at most %d are read: split it", size>>20, mostFileBytes>>20)
	case len(name) > mostName || !ktrdr.PlainText(name):
		return wrong("its name has control characters or more than %d bytes: rename it", mostName)
	}
	if err := market.CheckSymbol(file.symbol); err != nil {
		return wrong("%w: rename it, for example to EURUSD_1h%s", err, text.Cut(filepath.Ext(name), 20))
	}
	return nil
}
