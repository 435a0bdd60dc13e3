package backend

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/blob"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
)

// takeOver brings what is in the data folder into the lab: the bars of an earlier
// version, and copies of strategies and of the file of instruments. What cannot be
// taken over stays where it is and is logged.
func (b *Backend) takeOver(ctx context.Context) error {
	tell := func(t library.TakenOver) {
		if t.Err != nil {
			b.Log.WarnContext(ctx, "not taken over from the data folder", "what", t.What, "path", t.Path, "err", t.Err)
			return
		}
		b.Log.InfoContext(ctx, "taken over from the data folder", "what", t.What, "path", t.Path)
	}
	if err := b.library.TakeOverBars(ctx, b.cfg.Data, tell); err != nil {
		return err
	}
	return b.library.Copy(ctx, b.cfg.Folder(b.self.ID), tell)
}

// Folder is the data folder as the library copies it.
func (c Config) Folder(owner string) library.Folder {
	return library.Folder{Dir: c.Data, Owner: owner, Instruments: instrument.FileName}
}

// OwnerOf is the backend that runs on a data folder; empty if none has.
func OwnerOf(dir string) string {
	text, _ := os.ReadFile(filepath.Join(dir, IDFile)) // then it has none
	return strings.TrimSpace(string(text))
}

// instruments reads the file of instruments: that of the data folder, else the
// lab's.
func (b *Backend) instruments(ctx context.Context) (instrument.File, error) {
	file, _, err := InstrumentsOf(ctx, b.cfg, b.library)
	return file, err
}

// InstrumentsOf is the file of instruments that counts for a data folder, and
// where it is from.
func InstrumentsOf(ctx context.Context, cfg Config, l *library.Library) (instrument.File, string, error) {
	name := filepath.Join(cfg.Data, instrument.FileName)
	if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
		file, err := instrument.ReadFile(name)
		return file, name, err
	}
	if l == nil { // there is no lab yet
		return nil, "", nil
	}
	d, err := l.Instruments(ctx, instrument.FileName)
	if ktrdr.CodeOf(err) == ktrdr.CodeNotFound {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	file, err := instrument.Parse(instrument.FileName+" of the lab", []byte(d.Content))
	return file, "the lab", err
}

// assignMarkets assigns the series of the library that have no market: those
// that were imported while no backend ran. What cannot be decided is logged.
func (b *Backend) assignMarkets(ctx context.Context) {
	err := b.markets.PlaceAll(ctx, b.library, "", func(e jobs.SeriesInfo, p library.Placement, err error) {
		log := b.Log.With("symbol", e.Symbol, "timeframe", string(e.Timeframe))
		switch {
		case err != nil:
			log.WarnContext(ctx, "market of a series could not be decided", "err", err)
		case p.Question != "":
			log.WarnContext(ctx, "market of a series is undecided", "question", p.Question)
		default:
			log.InfoContext(ctx, "series assigned to a market", "market", p.Market.ID, "reason", p.Reason)
		}
	})
	if err != nil && ctx.Err() == nil {
		b.Log.WarnContext(ctx, "markets of the library could not be decided", "err", err)
	}
}

// trash lets the engine put blobs aside and purge them.
type trash struct{ store blob.Store }

// Put implements engine.Trash.
func (t trash) Put(ctx context.Context, blobs []ktrdr.Hash, at time.Time) error {
	return blob.TrashAll(ctx, t.store, blobs, at)
}

// Empty implements engine.Trash.
func (t trash) Empty(ctx context.Context, blobs []ktrdr.Hash, at time.Time,
	named func(context.Context, []ktrdr.Hash) (map[ktrdr.Hash]bool, error),
) error {
	return blob.PurgeAll(ctx, t.store, blobs, at, named)
}
