package market

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"unsafe"
)

// ReadLarge is ReadFile of which a long series lives in temporary files instead of memory. It must
// not be used once the closer is closed.
func ReadLarge(ctx context.Context, path string, opt ImportOptions) (*Bars, io.Closer, DataReport, error) {
	s := &spill{}
	opt.spill = s
	b, rep, err := ReadFile(ctx, path, opt)
	if err != nil {
		err = errors.Join(err, s.Close())
		return nil, nil, rep, err
	}
	return b, s, rep, nil
}

// spillFrom is how many rows are in memory before the first of them are written to a file.
const spillFrom = 16 * pieceRows

// spill holds the rows of a long table that need no mending, one file for each column:
//
//	rows in memory ──16 pieces──▶ files ──end──▶ mapped, and used where they lie
//	                                └── a row that is not in order, or wrong ──▶ back into memory
//
// The files have no names: they are gone with the process.
type spill struct {
	files  []*os.File // the time, the lines, and the columns of the bars
	rows   int
	last   int64 // the time of the last row
	spread bool
	ended  bool  // what comes now stays in memory
	err    error // that ended it
	maps   []io.Closer
}

// Close gives up the files, and what is mapped of them.
func (s *spill) Close() error {
	var err error
	for _, m := range s.maps {
		err = errors.Join(err, m.Close())
	}
	for _, f := range s.files {
		err = errors.Join(err, f.Close())
	}
	s.maps, s.files = nil, nil
	return err
}

// orderly tells whether the rows are a part of a series, behind those that were taken before.
func (s *spill) orderly(r *rows) bool {
	last := s.last
	if s.rows == 0 {
		last = math.MinInt64
	}
	for i, t := range r.Time {
		if t <= last || !r.clean(i) {
			return false
		}
		last = t
	}
	return true
}

// take writes rows to the files, and tells whether it did.
func (s *spill) take(r *rows) bool {
	if s.ended || r.Len() == 0 {
		return false
	}
	if !s.orderly(r) {
		s.ended = true
		return false
	}
	s.spread = r.Spread != nil
	columns := [][]byte{bytesOfColumn(r.Time), bytesOfColumn(r.line)}
	for _, c := range r.columns() {
		columns = append(columns, bytesOfColumn(*c))
	}
	for i, b := range columns {
		if i == len(s.files) {
			f, err := os.CreateTemp("", "ktrdr-rows-")
			if err == nil {
				s.files = append(s.files, f)
				err = os.Remove(f.Name())
			}
			if s.err = err; err != nil {
				s.ended = true
				return false
			}
		}
		if _, err := s.files[i].Write(b); err != nil {
			s.ended, s.err = true, fmt.Errorf("place for %d rows: %w", s.rows+r.Len(), err)
			return false
		}
	}
	s.last = r.Time[r.Len()-1]
	s.rows += r.Len()
	return true
}

func bytesOfColumn[T int32 | int64 | float64](c []T) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(c))), len(c)*int(unsafe.Sizeof(c[0]))) //nolint:gosec // its own memory
}

// columnOf sees a file as a column where it lies, or copies it into memory.
func columnOf[T int32 | int64 | float64](s *spill, f *os.File, copied bool) ([]T, error) {
	var zero T
	size := int64(s.rows) * int64(unsafe.Sizeof(zero))
	data, m, err := mapFile(f, size)
	if err != nil {
		return nil, err
	}
	c := unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), s.rows) //nolint:gosec // it was written as such
	if copied {
		c = slices.Clone(c)
		return c, m.Close()
	}
	s.maps = append(s.maps, m)
	return c, nil
}

// table is what was written: where it lies, or in memory.
func (s *spill) table(inMemory bool) (r rows, err error) {
	if s.spread {
		r.Spread = []float64{}
	}
	r.Time, err = columnOf[int64](s, s.files[0], inMemory)
	if err == nil {
		r.line, err = columnOf[int32](s, s.files[1], inMemory)
	}
	for k, c := range r.columns() {
		if err == nil {
			*c, err = columnOf[float64](s, s.files[2+k], inMemory)
		}
	}
	return r, err
}

// unspill makes the table of what was written and what is in memory. If all rows are in order,
// they stay where they are, and settled says that nothing is wrong with them.
func (r *rows) unspill() error {
	s := r.spill
	if s == nil {
		return nil
	}
	r.spill = nil
	if s.rows == 0 {
		return s.err
	}
	if len(r.full) == 0 && (r.Len() == 0 || s.take(r)) && s.err == nil {
		t, err := s.table(false)
		t.shared, t.settled = true, true
		*r = t
		return err
	}
	t, err := s.table(true)
	if err = cmp.Or(err, s.err); err != nil {
		return err
	}
	r.full = append([]rows{t}, r.full...)
	return nil
}
