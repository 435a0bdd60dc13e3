package market

import (
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
	compact "github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// guard looks at a Parquet file before the decoder does. The decoder believes
// the sizes that a file declares and allocates them before it reads; a damaged
// or hostile file of a few bytes could ask for all memory, and Go has no way
// back from that. The guard walks the same structures without allocating and
// refuses those that promise more than they hold.
type guard struct {
	r       io.ReaderAt
	size    int64
	maxRows int
}

const (
	maxFooter     = 8 << 20
	maxPageHeader = 64 << 10
	pageOverhead  = 1 << 20 // beside the values: levels, and the blocks of their encodings
)

var errDamaged = errors.New("the Parquet file is damaged")

func (g guard) footer() error {
	var end [8]byte
	if g.size < 12 {
		return fmt.Errorf("%w: it has %d bytes only", errDamaged, g.size)
	}
	if _, err := g.r.ReadAt(end[:], g.size-8); err != nil {
		return err
	}
	n := int64(binary.LittleEndian.Uint32(end[:4]))
	switch {
	case string(end[4:]) == "PARE":
		return errors.New("the Parquet file is encrypted")
	case string(end[4:]) != parquetMagic:
		return fmt.Errorf("%w: its end is missing", errDamaged)
	case n > g.size-12:
		return fmt.Errorf("%w: its description is longer than the file", errDamaged)
	case n > maxFooter:
		return fmt.Errorf("the Parquet file has a description of %d bytes, more than the %d allowed", n, maxFooter)
	}
	b := make([]byte, n)
	if _, err := g.r.ReadAt(b, g.size-8-n); err != nil {
		return err
	}
	w := compactWalk{b: b}
	if !w.structure(0) {
		return errDamaged
	}
	return nil
}

// column examines the pages of a column whose values have at most width bytes each, and some room beside them.
func (g guard) column(meta *format.ColumnMetaData, width int64) error {
	at := meta.DataPageOffset
	if d := meta.DictionaryPageOffset; d > 0 && d < at {
		at = d
	}
	end := at + meta.TotalCompressedSize
	if at < 4 || end < at || end > g.size {
		return fmt.Errorf("%w: pages lie outside the file", errDamaged)
	}
	if n := meta.NumValues; n < 0 || n > int64(g.maxRows) {
		return fmt.Errorf("there are more than %d rows", g.maxRows)
	}
	for at < end {
		h, n, err := g.pageHeader(at, end)
		if err != nil {
			return err
		}
		at += n
		if err := g.page(h, meta.Codec, at, end, width); err != nil {
			return err
		}
		at += int64(h.CompressedPageSize)
	}
	return nil
}

func (g guard) pageHeader(at, end int64) (h format.PageHeader, n int64, err error) {
	for _, size := range []int64{512, maxPageHeader} { // few are longer than a hundred bytes
		b := make([]byte, min(size, end-at))
		if _, err := g.r.ReadAt(b, at); err != nil {
			return h, 0, err
		}
		w := compactWalk{b: b}
		if !w.structure(0) {
			continue
		}
		if err := compact.Unmarshal(&compact.CompactProtocol{}, b[:w.at], &h); err != nil {
			return h, 0, fmt.Errorf("%w: %w", errDamaged, err)
		}
		return h, int64(w.at), nil
	}
	return h, 0, errDamaged
}

func (g guard) page(h format.PageHeader, codec format.CompressionCodec, at, end, width int64) error {
	packed, unpacked := int64(h.CompressedPageSize), int64(h.UncompressedPageSize)
	values, levels := int64(0), int64(0)
	switch {
	case h.DataPageHeader.Valid:
		values = int64(h.DataPageHeader.V.NumValues)
	case h.DataPageHeaderV2.Valid:
		v2 := h.DataPageHeaderV2.V
		values = int64(v2.NumValues)
		levels = int64(v2.DefinitionLevelsByteLength) + int64(v2.RepetitionLevelsByteLength)
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			codec = format.Uncompressed
		}
	case h.DictionaryPageHeader.Valid:
		values = int64(h.DictionaryPageHeader.V.NumValues)
	}
	switch {
	case packed < 0 || packed > end-at || levels < 0 || levels > packed || levels > unpacked:
		return fmt.Errorf("%w: a page lies outside its column", errDamaged)
	case values < 0 || values > int64(g.maxRows):
		return fmt.Errorf("there are more than %d rows", g.maxRows)
	case unpacked < 0 || unpacked > width*values+pageOverhead:
		return fmt.Errorf("%w: a page of %d values declares %d bytes", errDamaged, values, unpacked)
	}
	return g.unpacks(codec, io.NewSectionReader(g.r, at+levels, packed-levels), unpacked-levels)
}

// unpacks checks that compressed data is as large as it declares.
func (g guard) unpacks(codec format.CompressionCodec, r io.Reader, want int64) error {
	switch codec {
	case format.Uncompressed:
		return nil
	case format.Snappy: // which begins with its length
		head, err := io.ReadAll(io.LimitReader(r, binary.MaxVarintLen64))
		if n, k := binary.Uvarint(head); err != nil || k <= 0 || n != uint64(want) {
			return fmt.Errorf("%w: a page declares %d bytes and holds %d", errDamaged, want, n)
		}
		return nil
	case format.Gzip:
		z, err := gzip.NewReader(r)
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		return holds(z, want)
	case format.Zstd:
		z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(64<<20))
		if err != nil {
			return fmt.Errorf("%w: %w", errDamaged, err)
		}
		defer z.Close()
		return holds(z, want)
	}
	return fmt.Errorf("the Parquet file is compressed by %s; write it with snappy, zstd or gzip", codec)
}

func holds(r io.Reader, n int64) error {
	got, err := io.Copy(io.Discard, io.LimitReader(r, n+1))
	if err != nil {
		return fmt.Errorf("%w: %w", errDamaged, err)
	}
	if got != n {
		return fmt.Errorf("%w: a page declares %d bytes and holds others", errDamaged, n)
	}
	return nil
}

// compactWalk steps through a structure in the compact protocol without keeping anything of it.
type compactWalk struct {
	b     []byte
	at    int
	items int // elements of lists so far
}

const (
	maxDepth = 24
	maxItems = 400_000 // at some 500 bytes each once decoded
)

// structure steps over fields up to the byte that ends them.
func (w *compactWalk) structure(depth int) bool {
	if depth > maxDepth {
		return false
	}
	for {
		h, ok := w.byte()
		if !ok || h == 0 {
			return ok
		}
		if h>>4 == 0 { // the field's number follows in full
			if _, ok := w.varint(); !ok {
				return false
			}
		}
		if kind := h & 15; kind == 1 || kind == 2 {
			continue // a boolean field is its own value
		} else if !w.value(kind, depth) {
			return false
		}
	}
}

func (w *compactWalk) value(kind byte, depth int) bool {
	switch kind {
	case 1, 2, 3: // boolean in a list, byte
		return w.skip(1)
	case 4, 5, 6: // whole numbers
		_, ok := w.varint()
		return ok
	case 7: // double
		return w.skip(8)
	case 8: // bytes
		n, ok := w.varint()
		return ok && w.skip(n)
	case 9, 10: // list, set
		return w.list(depth)
	case 12:
		return w.structure(depth + 1)
	}
	return false // a map, which Parquet does not use, or nothing known
}

func (w *compactWalk) list(depth int) bool {
	h, ok := w.byte()
	n := uint64(h >> 4)
	if n == 15 {
		n, ok = w.varint()
	}
	if !ok || n > uint64(len(w.b)-w.at) {
		return false
	}
	if w.items += int(n); w.items > maxItems || depth > maxDepth {
		return false
	}
	for range n {
		if !w.value(h&15, depth+1) {
			return false
		}
	}
	return true
}

func (w *compactWalk) byte() (byte, bool) {
	if w.at >= len(w.b) {
		return 0, false
	}
	w.at++
	return w.b[w.at-1], true
}

func (w *compactWalk) varint() (uint64, bool) {
	v, n := binary.Uvarint(w.b[w.at:])
	if n <= 0 {
		return 0, false
	}
	w.at += n
	return v, true
}

func (w *compactWalk) skip(n uint64) bool {
	if n > uint64(len(w.b)-w.at) {
		return false
	}
	w.at += int(n)
	return true
}
