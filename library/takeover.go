package library

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// oldLibraryDir is where earlier versions kept bars.
const oldLibraryDir = "data"

// TakenOver is something of a data folder that the lab took over, or could not.
type TakenOver struct {
	What string // for people, such as "bars EURUSD 1h"
	Path string
	Err  error // why it stays where it is
}

// TakeOverBars brings the bars that an earlier version kept in a data folder
// into the lab. A file is removed when its bytes are in the blob store and its
// row is committed, so that a crash at any point loses nothing. Where the lab has
// another current series of the same name, that one stays current.
func (l *Library) TakeOverBars(ctx context.Context, dir string, tell func(TakenOver)) error {
	dir = filepath.Join(dir, oldLibraryDir)
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := market.OpenLibrary(dir)
	if err != nil {
		return fmt.Errorf("library of an earlier version: %w", err)
	}
	defer old.Close()
	vintages, err := old.Vintages()
	if err != nil {
		return fmt.Errorf("library of an earlier version: %w", err)
	}
	for i, v := range vintages {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		t := TakenOver{What: "bars " + v.Symbol + " " + string(v.Timeframe), Path: v.Path}
		if t.Err = l.takeOver(ctx, v); t.Err == nil {
			if t.Err = os.Remove(v.Path); errors.Is(t.Err, fs.ErrNotExist) {
				t.Err = nil // another process took it over too
			}
		}
		tell(t)
		if ktrdr.CodeOf(t.Err) == ktrdr.CodeUnavailable {
			return t.Err
		}
		if i+1 < len(vintages) && vintages[i+1].Symbol == v.Symbol && vintages[i+1].Timeframe == v.Timeframe {
			continue
		}
		if gone, err := old.Forget(v.Symbol, v.Timeframe); err != nil && !errors.Is(err, fs.ErrNotExist) || gone {
			return err
		}
	}
	return nil
}

func (l *Library) takeOver(ctx context.Context, v market.Vintage) error {
	b, c, err := market.OpenVerified(v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	if b.Symbol != v.Symbol || b.Timeframe != v.Timeframe {
		return fmt.Errorf("%s holds %s %s; import the data again", v.Path, b.Symbol, b.Timeframe)
	}
	n, err := l.newBars(ctx, candidateOf(b), ktrdr.BarsFromOldStore, v.Path)
	if err != nil {
		return err
	}
	n.Old = !v.Current
	_, err = l.store.AddBars(ctx, n)
	if ktrdr.CodeOf(err) == ktrdr.CodeConflict {
		if _, there := l.Info(ctx, v.Symbol, v.Timeframe); there != nil {
			return err // it is not this series that is in the way
		}
		n.Old = true
		_, err = l.store.AddBars(ctx, n)
	}
	return err
}

// Folder is a data folder whose files the lab has copies of.
type Folder struct {
	Dir         string
	Owner       string // the backend whose folder it is; empty if none has run on it
	Instruments string // name of the file of instruments
}

// Copy gives the lab a copy of the strategies and the file of instruments in a
// data folder, so that every backend and a backup has them. A copy of an earlier
// state of the same file is renewed. Where the lab has another text of the name,
// that one stays, and the file counts on its own backend only.
func (l *Library) Copy(ctx context.Context, f Folder, tell func(TakenOver)) error {
	files, err := os.ReadDir(filepath.Join(f.Dir, StrategiesDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, e := range files {
		ext := filepath.Ext(e.Name())
		if name := e.Name()[:len(e.Name())-len(ext)]; e.Type().IsRegular() && (ext == ".yaml" || ext == ".yml") && name != "" {
			if err := l.copyFile(ctx, f, filepath.Join(StrategiesDir, e.Name()), ktrdr.StrategyDocument, name, tell); err != nil {
				return err
			}
		}
	}
	return l.copyFile(ctx, f, f.Instruments, ktrdr.InstrumentsDocument, f.Instruments, tell)
}

// copyFile copies one file. An error stops the others too.
func (l *Library) copyFile(ctx context.Context, f Folder, file string, kind ktrdr.DocumentKind, name string, tell func(TakenOver)) error {
	t := TakenOver{What: string(kind) + " " + name, Path: filepath.Join(f.Dir, file)}
	text, err := readSmall(t.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		var did bool
		did, err = l.copyText(ctx, f, ktrdr.Document{
			Kind: kind, Name: name, Content: string(text), Origin: ktrdr.DocumentFromFolder, Source: file, Owner: f.Owner,
		})
		if err == nil && !did {
			return nil
		}
	}
	if ctx.Err() != nil || ktrdr.CodeOf(err) == ktrdr.CodeUnavailable {
		return err
	}
	t.Err = err
	tell(t)
	return nil
}

func (l *Library) copyText(ctx context.Context, f Folder, d ktrdr.Document) (did bool, err error) {
	is, err := l.store.Document(ctx, d.Kind, d.Name)
	switch {
	case ktrdr.CodeOf(err) == ktrdr.CodeNotFound:
		return true, l.store.SaveDocument(ctx, d, false)
	case err != nil || is.Content == d.Content:
		return false, err
	case f.Owner != "" && is.Origin == ktrdr.DocumentFromFolder && is.Owner == f.Owner:
		return true, l.store.SaveDocument(ctx, d, true)
	}
	return false, ktrdr.Errorf(ktrdr.CodeConflict,
		"the lab has another text of that name: this backend uses the file, the others use the lab's; "+
			"make them one with `ktrdr strategies add FILE --replace` or `ktrdr instruments set FILE`, or remove the file")
}

func readSmall(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, ktrdr.MaxDocument+1))
	if err == nil && len(text) > ktrdr.MaxDocument {
		err = wrong("%s is longer than the %d bytes that are copied", name, ktrdr.MaxDocument)
	}
	return text, err
}

// Instruments returns the lab's file of instruments; CodeNotFound.
func (l *Library) Instruments(ctx context.Context, name string) (ktrdr.Document, error) {
	return l.store.Document(ctx, ktrdr.InstrumentsDocument, name)
}

// SetInstruments makes a text the lab's file of instruments.
func (l *Library) SetInstruments(ctx context.Context, name, text, source string) error {
	return l.store.SaveDocument(ctx, ktrdr.Document{
		Kind: ktrdr.InstrumentsDocument, Name: name, Content: text, Origin: ktrdr.DocumentFromUser, Source: source,
	}, true)
}

// DeleteInstruments deletes the lab's file of instruments; CodeNotFound.
func (l *Library) DeleteInstruments(ctx context.Context, name string) error {
	return l.store.DeleteDocument(ctx, ktrdr.InstrumentsDocument, name)
}
