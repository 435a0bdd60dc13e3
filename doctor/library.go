package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/backend"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/text"
	"github.com/ktrdr/ktrdr/local"
	"github.com/ktrdr/ktrdr/strategy"
)

// library compares what the lab lists with what there is: every series with its
// file, every strategy and the file of instruments with the files of the data
// folder.
func (d *doctor) library(ctx context.Context, l *local.Lab) {
	d.series(ctx, l)
	d.strategies(ctx, l)
	d.instruments(ctx, l)
	d.leftovers()
}

// series compares the rows of current series with their files. With --deep each
// is read to its end and compared with its row.
func (d *doctor) series(ctx context.Context, l *local.Lab) {
	const unreadable = "check that the database and the blobs can be read"
	entries, err := l.Library.List(ctx)
	if err != nil {
		d.bad("bars", unreadable, "%v", err)
		return
	}
	wrong := 0
	for _, e := range entries {
		problem, err := l.Library.Problem(ctx, e)
		if err == nil && problem == "" && d.Deep {
			b, open := l.Library.Open(ctx, e)
			switch {
			case ktrdr.CodeOf(open) == ktrdr.CodeCorrupt:
				problem = open.Error()
			case open != nil:
				err = open
			case b.Len() != e.Bars:
				problem = fmt.Sprintf("its file holds %d bars and the list says %d", b.Len(), e.Bars)
			}
		}
		if err != nil {
			d.bad("bars", unreadable, "%s %s: %v", e.Symbol, e.Timeframe, err)
			return
		}
		if problem != "" {
			wrong++
			d.bad("bars", "restore the blob from a backup, or import the series again with `ktrdr data import FILE --replace`", "%s %s: %s",
				e.Symbol, e.Timeframe, problem)
		}
	}
	if wrong == 0 {
		how := "each with its file (--deep reads them)"
		if d.Deep {
			how = "read and as listed"
		}
		d.good("bars", "%s, %s", text.Counted(len(entries), "series", "series"), how)
	}
}

// strategies parses the lab's strategies and compares them with the files of the
// data folder.
func (d *doctor) strategies(ctx context.Context, l *local.Lab) {
	documents, err := l.Library.Strategies(ctx)
	if err != nil {
		d.bad("strategies", "check that the database can be read", "%v", err)
		return
	}
	copies := map[string]ktrdr.Document{}
	wrong, fresh := 0, 0
	for _, doc := range documents {
		copies[doc.Name] = doc
		if _, _, err := strategy.Parse([]byte(doc.Content), doc.Name); err != nil {
			wrong++
			d.bad("strategies", "correct it and give it to the lab with `ktrdr strategies add FILE --replace`, "+
				"or delete it with `ktrdr strategies delete "+doc.Name+"`", "%s of the lab: %v", doc.Name, err)
		}
	}
	files, err := local.StrategyFiles(d.cfg.Data)
	if err != nil {
		d.bad("strategies", "check that the folder can be read", "%v", err)
		return
	}
	for _, f := range files {
		doc, there := copies[f.Name]
		switch {
		case f.Err != nil:
			wrong++
			d.bad("strategies", "check that the file can be read", "%s: %v", f.From, f.Err)
		case !there, doc.Content != string(f.Text) && d.owns(doc):
			fresh++
		case doc.Content != string(f.Text):
			wrong++
			d.bad("strategies", "make them one with `ktrdr strategies add "+f.From+" --replace`, or remove the file",
				"%s differs from the lab's strategy of that name: this backend uses the file, the others the lab's", f.From)
		}
	}
	if wrong == 0 {
		d.good("strategies", "%s of the lab; %s here, %s", text.Counted(len(documents), "strategy", "strategies"),
			text.Counted(len(files), "file"), notCopied(fresh))
	}
}

// owns says whether the lab's copy is of a file of this folder.
func (d *doctor) owns(doc ktrdr.Document) bool {
	owner := backend.OwnerOf(d.cfg.Data)
	return owner != "" && doc.Origin == ktrdr.DocumentFromFolder && doc.Owner == owner
}

// notCopied counts the files that changed since the lab got its copies.
func notCopied(n int) string {
	if n == 0 {
		return "all copied into the lab"
	}
	return fmt.Sprintf("%d not copied into the lab yet: the next start of the backend and the next backup do", n)
}

// instruments reads the file of instruments. While it is wrong every new research
// is refused.
func (d *doctor) instruments(ctx context.Context, l *local.Lab) {
	file, from, err := backend.InstrumentsOf(ctx, d.cfg, l.Library)
	local := filepath.Join(d.cfg.Data, instrument.FileName)
	switch {
	case err != nil && from == local:
		d.bad(instrument.FileName, "correct "+local+", or remove it", "%v", err)
		return
	case err != nil:
		d.bad(instrument.FileName, "correct it and give it to the lab with `ktrdr instruments set FILE`, or run `ktrdr instruments delete`", "%v",
			err)
		return
	case from == local:
		text, err := os.ReadFile(local)
		doc, none := l.Library.Instruments(ctx, instrument.FileName)
		if err == nil && none == nil && doc.Content != string(text) && !d.owns(doc) {
			d.bad(instrument.FileName, "make them one with `ktrdr instruments set "+local+"`, or remove the file",
				"%s differs from the lab's: this backend uses the file, the others the lab's", local)
			return
		}
	}
	if len(file) > 0 {
		d.good(instrument.FileName, "%s, from %s", text.Counted(len(file), "instrument"), from)
	}
}

// leftovers reports bars that an earlier version left and that were not taken over.
func (d *doctor) leftovers() {
	old := filepath.Join(d.cfg.Data, local.OldLibrary)
	if !backend.NoFile(old) {
		d.bad("bars", "start the backend, or run `ktrdr data list`, which takes them over; a file that cannot be taken over is named there",
			"%s holds bars of an earlier version", old)
	}
}
