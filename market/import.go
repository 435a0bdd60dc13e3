package market

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"slices"
	"time"
	"unsafe"
)

// ImportOptions say what a file does not say itself.
type ImportOptions struct {
	Source    string         // what findings call the file; "" means "input"
	Symbol    string         // of the series
	Timeframe Timeframe      // "" means the one that the times show
	Zone      *time.Location // of times that carry no zone; nil means that of the format, else UTC
	Dates     DateOrder      // of day and month in dates like 03/04/2020; "" means what the column shows
	Decimal   byte           // the decimal mark, ',' or '.'; 0 means what the numbers show
	Adjusted  bool           // prices are scaled to the column of adjusted closes
	Divide    float64        // prices are points, and this is how many make a unit: they are rounded, then divided; 0 means they are prices
	Mode      Mode           // what to do with a file that has something wrong in it
	Inside    string         // the file of an archive that is read; "" means all of them
	MaxRows   int            // refuse longer files; 0 means 20 million
	MaxBytes  int64          // refuse files whose rows need more memory; 0 means 512 MiB, some 10 million rows

	spill *spill // where the rows of a long table go; nil: they stay in memory
}

// maxImport is how many bytes the rows of one import may need.
const maxImport = 512 << 20

func (o ImportOptions) withDefaults() (ImportOptions, error) {
	o.Source = cmp.Or(o.Source, "input")
	o.Zone = cmp.Or(o.Zone, time.UTC)
	o.MaxRows = cmp.Or(o.MaxRows, 20_000_000)
	o.MaxBytes = cmp.Or(o.MaxBytes, maxImport)
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
	line []int32 // where each row stood; nil: row i in line i+1

	full    []rows // tables of pieceRows that were read before; join makes one table of all
	shared  bool   // the columns are another's: see own
	spill   *spill // where long tables go
	settled bool   // each row was found to be right, and in order
}

const (
	pieceRows = 1 << 16
	rowBytes  = 52 // of a row in memory: six columns and the line
)

// add appends a row. A table grows by pieces: one that was doubled would be in memory twice while it is copied.
func (r *rows) add(line int, b Bar) {
	if r.Len() == pieceRows {
		r.endPiece()
	}
	if r.Len() == cap(r.Time) {
		n := min(max(r.Len(), 4096), pieceRows-r.Len())
		if len(r.full) > 0 {
			n = pieceRows
		}
		r.grow(n)
	}
	r.Append(b)
	r.line = append(r.line, int32(line))
}

// endPiece puts a piece that is full behind those before it, or into files.
func (r *rows) endPiece() {
	piece := rows{Bars: r.Bars, line: r.line}
	r.full, r.Bars, r.line = append(r.full, piece), Bars{}, nil
	if piece.Spread != nil {
		r.Spread = []float64{}
	}
	if r.spill == nil || len(r.full) < spillFrom/pieceRows && r.spill.rows == 0 {
		return
	}
	for len(r.full) > 0 && r.spill.take(&r.full[0]) {
		piece, r.full[0], r.full = r.full[0], rows{}, r.full[1:]
	}
	if len(r.full) == 0 { // the memory of the last one is used again
		r.Time, r.line = piece.Time[:0], piece.line[:0]
		for k, c := range r.columns() {
			*c = (*piece.columns()[k])[:0]
		}
	}
}

func (r *rows) bytes() int64 {
	n := int64(len(r.full))*pieceRows + int64(r.Len())
	if r.spill != nil && r.spill.ended {
		n += int64(r.spill.rows) // they come back into memory
	}
	if r.Spread != nil {
		return (rowBytes + 8) * n
	}
	return rowBytes * n
}

// join makes one table of all pieces, column by column, each of which is given up when it is copied.
func (r *rows) join() {
	if len(r.full) == 0 {
		return
	}
	all := append(r.full, rows{Bars: r.Bars, line: r.line})
	r.full = nil
	r.Time = joined(all, func(p *rows) *[]int64 { return &p.Time })
	for k, c := range r.columns() {
		*c = joined(all, func(p *rows) *[]float64 { return p.columns()[k] })
	}
	r.line = joined(all, func(p *rows) *[]int32 { return &p.line })
}

// collectFrom is how many bytes given up are worth a collection of their own:
// the collector waits until memory has doubled.
const collectFrom = 64 << 20

func joined[T int32 | int64 | float64](pieces []rows, column func(*rows) *[]T) []T {
	n := 0
	for i := range pieces {
		n += len(*column(&pieces[i]))
	}
	all := make([]T, 0, n)
	for i := range pieces {
		c := column(&pieces[i])
		all = append(all, *c...)
		*c = nil
	}
	giveUp(len(all) * int(unsafe.Sizeof(all[0])))
	return all
}

// giveUp collects what was given up if it was much.
func giveUp(bytes int) {
	if bytes >= collectFrom {
		runtime.GC()
	}
}

// lineOf is where row i stood.
func (r *rows) lineOf(i int) int {
	if r.line == nil {
		return i + 1
	}
	return int(r.line[i])
}

// own makes the columns the table's own before one of them is changed.
func (r *rows) own() {
	if !r.shared {
		return
	}
	r.shared = false
	if r.line == nil {
		r.line = make([]int32, r.Len())
		for i := range r.line {
			r.line[i] = int32(i + 1)
		}
	}
	r.Time = slices.Clone(r.Time)
	for _, c := range r.columns() {
		*c = slices.Clone(*c)
	}
}

func (r *rows) permute(at []int32) {
	if r.line == nil {
		r.own()
	}
	r.Time = permuted(r.Time, at)
	for _, c := range r.columns() {
		*c = permuted(*c, at)
	}
	r.line = permuted(r.line, at)
}

func permuted[T int32 | int64 | float64](column []T, at []int32) []T {
	out := make([]T, len(at))
	for w, i := range at {
		out[w] = column[i]
	}
	giveUp(len(at) * int(unsafe.Sizeof(out[0])))
	return out
}

func (r *rows) grow(n int) {
	r.Time, r.line = slices.Grow(r.Time, n), slices.Grow(r.line, n)
	for _, c := range r.columns() {
		*c = slices.Grow(*c, n)
	}
}

func (r *rows) put(w, i int) {
	r.own()
	r.Time[w], r.Open[w], r.High[w], r.Low[w] = r.Time[i], r.Open[i], r.High[i], r.Low[i]
	r.Close[w], r.Volume[w], r.line[w] = r.Close[i], r.Volume[i], r.line[i]
	if r.Spread != nil {
		r.Spread[w] = r.Spread[i]
	}
}

func (r *rows) cut(n int) {
	r.Bars = *r.Slice(0, n)
	if r.line != nil {
		r.line = r.line[:n]
	}
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
	for i, v := range r.Spread {
		r.Spread[i] = v / points
	}
}

// ReadFile reads a price file: Parquet if it begins as one, else CSV. A
// report's source is the file's path unless the options name another. When ctx
// ends it returns its cause.
func ReadFile(ctx context.Context, path string, opt ImportOptions) (*Bars, DataReport, error) {
	opt.Source = cmp.Or(opt.Source, path)
	rep := DataReport{Source: opt.Source}
	info, err := os.Stat(path) // before it is opened: opening a pipe waits for its writer
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
	return ReadOpen(ctx, file, opt)
}

// ReadOpen is ReadFile of a regular file that is open, wherever it was last read or written.
func ReadOpen(ctx context.Context, file *os.File, opt ImportOptions) (*Bars, DataReport, error) {
	opt.Source = cmp.Or(opt.Source, file.Name())
	size, err := file.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, DataReport{Source: opt.Source}, err
	}
	f := stoppable{ctx, file}
	head := make([]byte, len(parquetMagic))
	if _, err := f.ReadAt(head, 0); err == nil && bytes.Equal(head, []byte(parquetMagic)) {
		return ReadParquet(f, size, opt)
	}
	if isZip(f) {
		a, err := openArchive(f, size)
		if err != nil {
			return nil, DataReport{Source: opt.Source}, fmt.Errorf("%s: %w", opt.Source, err)
		}
		return a.read(ctx, opt)
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
