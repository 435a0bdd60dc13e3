package market

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"slices"
	"time"
)

// ImportOptions say what a file does not say itself.
type ImportOptions struct {
	Source    string         // what findings call the file; "" means "input"
	Symbol    string         // of the series
	Timeframe Timeframe      // "" means the one that the times show
	Zone      *time.Location // of times that carry no zone; nil means UTC
	Divide    float64        // prices are points, so many to a unit: they are rounded, then divided; 0 means they are prices
	Mode      Mode           // what to do with a file that has something wrong in it
	MaxRows   int            // refuse longer files; 0 means 20 million
}

// CSVOptions are those of any import.
type CSVOptions = ImportOptions

// withDefaults fills in what was left out and refuses what makes no sense.
func (o ImportOptions) withDefaults() (ImportOptions, error) {
	o.Source = cmp.Or(o.Source, "input")
	o.Zone = cmp.Or(o.Zone, time.UTC)
	o.MaxRows = cmp.Or(o.MaxRows, 20_000_000)
	switch {
	case o.MaxRows < 0 || o.MaxRows > math.MaxInt32:
		return o, fmt.Errorf("a limit of %d rows is not between 1 and %d", o.MaxRows, math.MaxInt32)
	case o.Divide < 0 || math.IsNaN(o.Divide) || math.IsInf(o.Divide, 0):
		return o, fmt.Errorf("prices cannot be divided by %v points to a unit; give a positive number such as 100000", o.Divide)
	case o.Timeframe != "":
		if _, err := ParseTimeframe(string(o.Timeframe)); err != nil {
			return o, err
		}
	}
	return o, nil
}

// rows is a table as it was read: not yet in order, not yet trusted.
type rows struct {
	Bars
	line []int32 // where each row stood
}

// add appends a row.
func (r *rows) add(line int, b Bar) {
	if n := r.Len(); n == cap(r.Time) { // doubling moves each value once or twice, append's own steps four times
		r.grow(max(n, 4096))
	}
	r.Append(b)
	r.line = append(r.line, int32(line))
}

// grow makes room for n more rows.
func (r *rows) grow(n int) {
	r.Time, r.line = slices.Grow(r.Time, n), slices.Grow(r.line, n)
	for _, c := range []*[]float64{&r.Open, &r.High, &r.Low, &r.Close, &r.Volume} {
		*c = slices.Grow(*c, n)
	}
}

// put writes row i over row w.
func (r *rows) put(w, i int) {
	r.Time[w], r.Open[w], r.High[w], r.Low[w] = r.Time[i], r.Open[i], r.High[i], r.Low[i]
	r.Close[w], r.Volume[w], r.line[w] = r.Close[i], r.Volume[i], r.line[i]
}

// cut keeps the first n rows.
func (r *rows) cut(n int) {
	r.Bars = *r.Slice(0, n)
	r.line = r.line[:n]
}

// divided turns points into prices. They are rounded first because some feeds
// write them with the noise of an earlier multiplication: 103428.00000000001.
func (r *rows) divided(points float64) {
	if points == 0 {
		return
	}
	for _, column := range [][]float64{r.Open, r.High, r.Low, r.Close} {
		for i, v := range column {
			column[i] = math.Round(v) / points
		}
	}
}

// ReadFile reads a price file: Parquet if it begins as one, else CSV. A
// report's source is the file's path unless the options name another. When ctx
// ends it returns its cause.
func ReadFile(ctx context.Context, path string, opt ImportOptions) (*Bars, Report, error) {
	opt.Source = cmp.Or(opt.Source, path)
	rep := Report{Source: opt.Source}
	info, err := os.Stat(path) // before it is opened: opening a pipe waits for whoever writes it
	if err != nil {
		return nil, rep, err
	}
	if info.IsDir() {
		return nil, rep, fmt.Errorf("%s is a directory: name the files in it", opt.Source)
	}
	if !info.Mode().IsRegular() {
		return nil, rep, fmt.Errorf("%s is not a regular file: save the prices as one first", opt.Source)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, rep, err
	}
	defer file.Close()
	f := stoppable{ctx, file}
	head := make([]byte, len(parquetMagic))
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, []byte(parquetMagic)) {
		return ReadParquet(f, info.Size(), opt)
	}
	return ReadCSV(f, opt)
}

// stoppable is a file that cannot be read once its context has ended.
type stoppable struct {
	ctx  context.Context
	file *os.File
}

func (s stoppable) Read(b []byte) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.file.Read(b)
}

func (s stoppable) ReadAt(b []byte, at int64) (int, error) {
	if s.ctx.Err() != nil {
		return 0, context.Cause(s.ctx)
	}
	return s.file.ReadAt(b, at)
}
