package market

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strings"
	"unsafe"
)

// A bars file holds one series so that it can be used where it lies: opening it
// maps the columns into memory and copies nothing. Numbers are little-endian.
//
//	offset  size
//	     0     8  "ktrdrbar"
//	     8     4  version: 1, or 2 with spreads or volumes that are not known
//	    12     4  size of this header, 256
//	    16     8  number of bars, n
//	    24     8  size of the file
//	    32    32  Bars.Hash
//	    64    32  symbol, filled up with zeros
//	    96     8  timeframe, filled up with zeros
//	   104     4  number of columns: of version 2, else 0
//	   108   116  zeros
//	   224    32  SHA-256 of the 224 bytes before
//	   256        time: n signed 64-bit Unix seconds
//	              open, high, low, close, volume: n 64-bit floats each
//	              spread, of version 2 with 7 columns: n 64-bit floats
//
// Each column begins at a multiple of 64 bytes, the space before it being
// zeros. The file is named by its hash, {hash}.bars, is written whole before it
// gets that name, and is never changed after.
const (
	barsMagic   = "ktrdrbar"
	barsVersion = 1
	barsWithNaN = 2 // the version with spreads, or volumes that are not known: an older program refuses it
	mostColumns = 7
	headerSize  = 256
	headerSum   = 224 // where the header's own hash stands
	columnAlign = 64
	maxSymbol   = 32
	maxBars     = math.MaxInt32 // indexes into a series are int32 here and there
)

// Suffix ends the name of a bars file.
const Suffix = ".bars"

type header struct {
	bars      int
	hash      [32]byte
	symbol    string
	timeframe Timeframe
	version   uint32
	columns   int
}

// headerOf is the header of a series. What older programs can read has the version that they know.
func headerOf(b *Bars, hash [32]byte) header {
	h := header{b.Len(), hash, b.Symbol, b.Timeframe, barsVersion, mostColumns - 1}
	switch {
	case b.Spread != nil:
		h.version, h.columns = barsWithNaN, mostColumns
	case b.Lacking() > 0:
		h.version = barsWithNaN
	}
	return h
}

func (h header) columnSize() int64 {
	return (8*int64(h.bars) + columnAlign - 1) / columnAlign * columnAlign
}

func (h header) fileSize() int64 { return headerSize + int64(h.columns)*h.columnSize() }

func (h header) encode() []byte {
	b := make([]byte, headerSize)
	copy(b, barsMagic)
	binary.LittleEndian.PutUint32(b[8:], h.version)
	binary.LittleEndian.PutUint32(b[12:], headerSize)
	binary.LittleEndian.PutUint64(b[16:], uint64(h.bars))
	binary.LittleEndian.PutUint64(b[24:], uint64(h.fileSize()))
	copy(b[32:], h.hash[:])
	copy(b[64:64+maxSymbol], h.symbol)
	copy(b[96:104], h.timeframe)
	if h.version == barsWithNaN {
		binary.LittleEndian.PutUint32(b[104:], uint32(h.columns))
	}
	sum := sha256.Sum256(b[:headerSum])
	copy(b[headerSum:], sum[:])
	return b
}

func decodeHeader(b []byte, size int64) (h header, err error) {
	switch {
	case len(b) < headerSize:
		return h, fmt.Errorf("it has %d bytes, less than a header: it was cut short; import the data again", len(b))
	case string(b[:8]) != barsMagic:
		return h, errors.New("it is not a bars file")
	case binary.LittleEndian.Uint32(b[8:])-barsVersion > barsWithNaN-barsVersion:
		return h, fmt.Errorf("it is of version %d, and this program reads versions %d and %d; import the data again",
			binary.LittleEndian.Uint32(b[8:]), barsVersion, barsWithNaN)
	case sha256.Sum256(b[:headerSum]) != [32]byte(b[headerSum:headerSize]):
		return h, errors.New("its header is damaged; import the data again")
	}
	n := binary.LittleEndian.Uint64(b[16:])
	h.version, h.columns = binary.LittleEndian.Uint32(b[8:]), mostColumns-1
	known := true
	if h.version == barsWithNaN {
		h.columns = int(binary.LittleEndian.Uint32(b[104:]))
		known = h.columns == mostColumns || h.columns == mostColumns-1
	}
	if n > maxBars || binary.LittleEndian.Uint32(b[12:]) != headerSize || !known {
		return h, errors.New("its header makes no sense; import the data again")
	}
	h.bars = int(n)
	h.hash = [32]byte(b[32:64])
	h.symbol = string(bytes.TrimRight(b[64:64+maxSymbol], "\x00"))
	h.timeframe, err = ParseTimeframe(string(bytes.TrimRight(b[96:104], "\x00")))
	if err != nil {
		return h, err
	}
	if err := CheckSymbol(h.symbol); err != nil {
		return h, err
	}
	if want := h.fileSize(); size != want || binary.LittleEndian.Uint64(b[24:]) != uint64(want) {
		return h, fmt.Errorf("it has %d bytes where its %d bars need %d: it was cut short or written over; import the data again", size, n, want)
	}
	return h, nil
}

// CheckSymbol refuses names that could not be part of a file's name.
func CheckSymbol(s string) error {
	ok := s != "" && len(s) <= maxSymbol && !strings.ContainsRune("._-", rune(s[0]))
	for _, c := range []byte(s) {
		ok = ok && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-')
	}
	if !ok {
		return fmt.Errorf("symbol %q is not 1 to %d letters, digits, dots, hyphens and underscores beginning with a letter or digit", s,
			maxSymbol)
	}
	return nil
}

// ErrNoData means that there is no such series.
var ErrNoData = errors.New("no such data")

// Encode writes the bars file of a series. The error is an InvalidError where b breaks a rule.
func Encode(w io.Writer, b *Bars) error {
	e, err := NewEncoding(b, b.Hash())
	if err == nil {
		err = e.Write(w)
	}
	return err
}

// Encoding is a series that was checked, whose bars file can be written several times.
type Encoding struct {
	bars   *Bars
	header header
}

// NewEncoding checks a series. The error is an InvalidError where b breaks a rule. hash is
// b.Hash(): who has it need not read all bars for it again.
func NewEncoding(b *Bars, hash [32]byte) (*Encoding, error) {
	if err := CheckSymbol(b.Symbol); err != nil {
		return nil, err
	}
	if _, err := Check(b, b.Symbol); err != nil {
		return nil, err
	}
	return &Encoding{b, headerOf(b, hash)}, nil
}

// Hash is that of the series.
func (e *Encoding) Hash() [32]byte { return e.header.hash }

// Size is how many bytes the file has.
func (e *Encoding) Size() int64 { return e.header.fileSize() }

// Write writes the file.
func (e *Encoding) Write(w io.Writer) error {
	if _, err := w.Write(e.header.encode()); err != nil {
		return err
	}
	return e.bars.writeColumns(w, make([]byte, e.header.columnSize()-8*int64(e.header.bars)))
}

// OpenVerified opens a bars file. The bars live in the file: they must not be
// used once the closer is closed. All of it is checked: the header, the size, that
// the columns have the hash of the header, and are a series by the rules of Check.
func OpenVerified(path string) (*Bars, io.Closer, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return MapVerified(f)
}

// MapVerified is OpenVerified of a file that is open, and that may be closed afterwards.
func MapVerified(f *os.File) (*Bars, io.Closer, error) {
	b, c, h, err := open(f)
	if err == nil {
		if err = verify(b, h, f.Name()); err != nil {
			err = errors.Join(err, c.Close())
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("bars file %s: %w", f.Name(), err)
	}
	return b, c, nil
}

// Decode reads a bars file from memory, with all the checks of OpenVerified. The
// bars live in data, which must not be changed while they are used.
func Decode(data []byte) (*Bars, error) {
	h, err := decodeHeader(data, int64(len(data)))
	if err != nil {
		return nil, fmt.Errorf("bars file: %w", err)
	}
	if uintptr(unsafe.Pointer(unsafe.SliceData(data)))%8 != 0 { //nolint:gosec // only the address is looked at
		data = aligned(data)
	}
	b := h.bind(data)
	if err := verify(b, h, h.symbol); err != nil {
		return nil, fmt.Errorf("bars file: %w", err)
	}
	return b, nil
}

// aligned is a copy of data that begins at a multiple of 8, as numbers must.
func aligned(data []byte) []byte {
	words := make([]uint64, (len(data)+7)/8)
	room := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), len(data)) //nolint:gosec // the words have room for it
	copy(room, data)
	return room
}

// verify checks columns against their header. They may be those of a mapped
// file: where the disk does not give a page, or the file was cut short
// meanwhile, reading it is a fault, which would otherwise end the program.
func verify(b *Bars, h header, source string) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if x := recover(); x != nil {
			if _, fault := x.(interface{ Addr() uintptr }); !fault {
				panic(x)
			}
			err = errors.New("its columns cannot be read: the disk fails, or it was cut short meanwhile; import the data again")
		}
	}()
	if got := b.Hash(); got != h.hash {
		return fmt.Errorf("its columns have hash %x and not %x as its header says: it is damaged; import the data again", got[:8], h.hash[:8])
	}
	_, err = Check(b, source)
	return err
}

// open maps the file f, whose handle may be closed after.
func open(f *os.File) (*Bars, io.Closer, header, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, nil, header{}, err
	}
	if !info.Mode().IsRegular() {
		return nil, nil, header{}, errors.New("it is not a regular file")
	}
	h, err := readHeader(f, info.Size())
	if err != nil {
		return nil, nil, h, err
	}
	data, c, err := mapFile(f, h.fileSize())
	if err != nil {
		return nil, nil, h, err
	}
	return h.bind(data), c, h, nil
}

func readHeader(f io.ReaderAt, size int64) (header, error) {
	b := make([]byte, min(headerSize, size))
	if _, err := f.ReadAt(b, 0); err != nil {
		return header{}, err
	}
	return decodeHeader(b, size)
}

// bind makes a series of the bytes of a file, which begin at a multiple of 8.
func (h header) bind(data []byte) *Bars {
	b := &Bars{Symbol: h.symbol, Timeframe: h.timeframe}
	at := int64(headerSize)
	next := func() []byte {
		c := data[at : at+8*int64(h.bars)]
		at += h.columnSize()
		return c
	}
	b.Time = numbers[int64](next(), h.bars)
	if h.columns == mostColumns {
		b.Spread = []float64{}
	}
	for _, c := range b.columns() {
		*c = numbers[float64](next(), h.bars)
	}
	return b
}

// numbers sees bytes as numbers: in place where the machine orders bytes as the file does, else by copying.
func numbers[T int64 | float64](data []byte, n int) []T {
	if n == 0 {
		return nil
	}
	if littleEndian {
		return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(data))), n) //nolint:gosec // length and alignment are checked
	}
	words := make([]uint64, n)
	for i := range words {
		words[i] = binary.LittleEndian.Uint64(data[8*i:])
	}
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(words))), n) //nolint:gosec // both types have 8 bytes
}
