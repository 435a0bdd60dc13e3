package market

import (
	"archive/zip"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

const zipMagic = "PK\x03\x04"

// archive is a zip with price files: one, or several as Binance and HistData give for the
// months of a series.
type archive struct {
	files []*zip.File
}

// openArchive finds the price files of an archive. HistData puts a report of gaps beside them,
// whose name ends in .txt. They stand in the order of their names.
func openArchive(r io.ReaderAt, size int64) (archive, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		if errors.Is(err, zip.ErrFormat) {
			err = errors.New("the end of the archive is missing")
		}
		return archive{}, fmt.Errorf("zip: %w: copy or download the file again", err)
	}
	var tables, texts []*zip.File
	for _, f := range z.File {
		base := path.Base(f.Name)
		if f.Name == "xl/workbook.xml" {
			return archive{}, errors.New("this is an Excel workbook: save the sheet with the prices as CSV")
		}
		switch ext := strings.ToLower(path.Ext(base)); {
		case f.FileInfo().IsDir() || strings.HasPrefix(f.Name, "__MACOSX/") || strings.HasPrefix(base, "."):
		case ext == ".csv" || ext == ".tsv":
			tables = append(tables, f)
		case ext == ".txt" || ext == "":
			texts = append(texts, f)
		}
	}
	if len(tables) == 0 {
		tables = texts
	}
	if len(tables) == 0 {
		return archive{}, errors.New("zip: there is no CSV or text file in the archive")
	}
	slices.SortStableFunc(tables, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	return archive{tables}, nil
}

// Inside lists the price files of an archive, in the order of their names. It is nil for a file that is no zip.
func Inside(file string) ([]string, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || !info.Mode().IsRegular() || !isZip(f) {
		return nil, err
	}
	a, err := openArchive(f, info.Size())
	if err != nil {
		return nil, nil //nolint:nilerr // reading the file says it
	}
	names := make([]string, len(a.files))
	for i, f := range a.files {
		names[i] = f.Name
	}
	return names, nil
}

func isZip(f io.ReaderAt) bool {
	head := make([]byte, len(zipMagic))
	_, err := f.ReadAt(head, 0)
	return err == nil && string(head) == zipMagic
}

// read reads the file that opt names, or puts together all files, which must be of one series.
func (a archive) read(ctx context.Context, opt ImportOptions) (*Bars, DataReport, error) {
	rep := DataReport{Source: opt.Source}
	files := a.files
	if opt.Inside != "" {
		i := slices.IndexFunc(files, func(f *zip.File) bool { return f.Name == opt.Inside })
		if i < 0 {
			return nil, rep, fmt.Errorf("%s: zip: there is no %s in the archive", opt.Source, opt.Inside)
		}
		files = files[i : i+1]
	}
	if err := oneSeries(files); err != nil {
		return nil, rep, fmt.Errorf("%s: %w", opt.Source, err)
	}
	if len(files) == 1 {
		opt.Inside = files[0].Name
		return readMember(files[0], opt)
	}
	opt.spill = nil // the parts are put together in memory
	var all *Bars
	for _, f := range files {
		if ctx.Err() != nil {
			return nil, rep, context.Cause(ctx)
		}
		part := opt
		part.Inside, part.Source = f.Name, opt.Source+"/"+f.Name
		b, said, err := readMember(f, part)
		if err == nil && all != nil {
			var m Merged
			if b, m, err = Merge(all, b); err == nil && m.Changed > 0 {
				err = fmt.Errorf("%s: zip: %s has %s at times of earlier files of the archive, with other prices; "+
					"unpack it and import the files one by one with --append, the best last", opt.Source, f.Name,
					text.Counted(m.Changed, "bar"))
			}
		}
		if err != nil {
			return nil, said, err
		}
		all = b
		rep.take(&said)
		if most := cmp.Or(opt.MaxBytes, maxImport); int64(all.Len())*rowBytes > most {
			return nil, rep, fmt.Errorf("%s: the bars of the archive need more than %d MiB of memory, which is the limit for one import; "+
				"unpack it and import the files one by one with --append", opt.Source, most>>20)
		}
		if opt.Timeframe == "" {
			opt.Timeframe = b.Timeframe
		}
	}
	rep.Recognised.note(fmt.Sprintf("%d files of the archive are put together", len(files)))
	rep.Bars, rep.Timeframe = all.Len(), all.Timeframe
	rep.GapsOf(all)
	return all, rep, nil
}

func readMember(f *zip.File, opt ImportOptions) (*Bars, DataReport, error) {
	text, err := f.Open()
	if err != nil {
		return nil, DataReport{Source: opt.Source}, fmt.Errorf("%s: zip: %s: %w", opt.Source, f.Name, err)
	}
	defer text.Close()
	return ReadCSV(text, opt)
}

// oneSeries refuses files whose names tell different series.
func oneSeries(files []*zip.File) error {
	var first, from string
	for _, f := range files {
		symbol, tf, ok := NamedSeries(path.Base(f.Name))
		if !ok {
			continue
		}
		name := strings.TrimSpace(symbol + " " + string(tf))
		if first == "" {
			first, from = name, f.Name
		} else if first != name {
			return fmt.Errorf("zip: the archive holds %s (%s) and %s (%s): import it with `ktrdr data import` and without --symbol, or unpack it",
				first, path.Base(from), name, path.Base(f.Name))
		}
	}
	return nil
}

// take adds the report of a part. Gaps are found when all parts are there.
func (r *DataReport) take(part *DataReport) {
	r.Rows, r.Dropped, r.Widened, r.Cleared = r.Rows+part.Rows, r.Dropped+part.Dropped, r.Widened+part.Widened, r.Cleared+part.Cleared
	r.Sorted = r.Sorted || part.Sorted
	if r.Recognised == nil {
		r.Recognised = part.Recognised
	}
	for _, f := range part.Findings {
		if !r.full() {
			r.Findings = append(r.Findings, f)
		}
	}
	for rule, n := range part.Counts {
		if r.Counts == nil {
			r.Counts = map[Rule]int{}
		}
		r.Counts[rule] += n
	}
}
