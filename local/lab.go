package local

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// Lab is the storage of a lab, with its library and its markets.
type Lab struct {
	backend.Storage
	Library *library.Library
	Markets *library.Markets
	Holdout float64 // share of the bars that is the holdout of a market without one
}

// Of is the lab in a storage.
func Of(st backend.Storage) *Lab {
	return &Lab{Storage: st, Library: library.NewLibrary(st.Store, st.Blobs), Markets: library.NewMarkets(st.Store, st.Blobs)}
}

// Options say how a lab is opened.
type Options struct {
	Make  bool                        // make the database if it does not exist
	Ready func(context.Context) error // refuses if the database must not be opened now
	Taken func(library.TakenOver)     // hears of each series that an earlier version left in the folder
}

// OldLibrary is where earlier versions kept bars in the data folder.
const OldLibrary = "data"

// Open opens the lab of a data folder. Without Make the error is market.ErrNoData
// where there is no lab yet: no database, and no bars of an earlier version.
func Open(ctx context.Context, cfg backend.Config, o Options) (*Lab, error) {
	backend.Private()
	if db, ok := backend.SQLiteFile(cfg.Database()); ok && !o.Make && backend.NoFile(db) {
		if backend.NoFile(filepath.Join(cfg.Data, OldLibrary)) {
			return nil, cmp.Or(backend.RefuseRestoring(cfg.Data), market.ErrNoData)
		}
		o.Make = true
	}
	if err := o.Ready(ctx); err != nil {
		return nil, err
	}
	open := backend.OpenStorage
	if o.Make {
		if err := cmp.Or(backend.MakeFolder(cfg.Data), backend.RefuseRestoring(cfg.Data)); err != nil {
			return nil, err
		}
		open = backend.MakeStorage
	}
	st, err := open(ctx, cfg)
	if err != nil {
		return nil, err
	}
	l := Of(st)
	l.Holdout = cfg.Holdout
	if err = st.Join(ctx, cfg); err == nil {
		err = l.Library.TakeOverBars(ctx, cfg.Data, o.Taken)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// invalid is an argument that must be changed.
func invalid(format string, args ...any) error {
	return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...)
}
