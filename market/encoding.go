package market

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/klauspost/compress/gzip" // undoes it in half the time of the standard library's
	"github.com/klauspost/compress/zstd"
)

// headBytes is how much of a text is looked at before it is read.
const headBytes = 64 << 10

// plain undoes gzip and Zstandard, and makes UTF-8 of UTF-16. The first bytes tell
// what there is.
func plain(r io.Reader) (*bufio.Reader, error) {
	b := bufio.NewReaderSize(r, headBytes)
	head, _ := b.Peek(4)
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b")):
		z, err := gzip.NewReader(b)
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		b = bufio.NewReaderSize(cutShort{z, "gzip"}, headBytes)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		z, err := zstd.NewReader(b, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(256<<20))
		if err != nil {
			return nil, fmt.Errorf("zstd: %w", err)
		}
		b = bufio.NewReaderSize(cutShort{z, "zstd"}, headBytes)
	case bytes.HasPrefix(head, []byte(zipMagic)):
		return nil, errors.New("the file is a zip archive: give it as a file, not as a stream")
	}
	return decoded(b), nil
}

// decoded makes UTF-8 of UTF-16: with a byte order mark, or where every second of the first bytes is 0.
func decoded(b *bufio.Reader) *bufio.Reader {
	head, _ := b.Peek(8)
	switch {
	case bytes.HasPrefix(head, []byte("\xff\xfe")), len(head) == 8 && head[1] == 0 && head[3] == 0 && head[5] == 0 && head[0] != 0:
		return bufio.NewReaderSize(&utf16Reader{r: b}, headBytes)
	case bytes.HasPrefix(head, []byte("\xfe\xff")), len(head) == 8 && head[0] == 0 && head[2] == 0 && head[4] == 0 && head[1] != 0:
		return bufio.NewReaderSize(&utf16Reader{r: b, big: true}, headBytes)
	}
	return b
}

// cutShort says of a file that ends too soon that it does: to a reader of lines it would be one that ends.
type cutShort struct {
	io.Reader

	what string
}

func (z cutShort) Read(b []byte) (int, error) {
	n, err := z.Reader.Read(b)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = errors.New(z.what + ": the file was cut short: copy or download it again")
	}
	return n, err
}

// utf16Reader makes UTF-8 of UTF-16.
type utf16Reader struct {
	r    *bufio.Reader
	big  bool
	text []byte // UTF-8 of what was read last
	rest []byte // the part of it that was not given yet
	high rune   // the first half of a pair of surrogates
	err  error  // that ended it
}

func (u *utf16Reader) Read(b []byte) (int, error) {
	if len(u.rest) == 0 {
		u.text = u.text[:0]
		for u.err == nil && (len(u.text) == 0 || len(u.text) < len(b) && u.r.Buffered() > 1) {
			u.err = u.next()
		}
		if len(u.text) == 0 {
			return 0, u.err
		}
		u.rest = u.text
	}
	n := copy(b, u.rest)
	u.rest = u.rest[n:]
	return n, nil
}

// next appends one character, or keeps the first half of one.
func (u *utf16Reader) next() error {
	var two [2]byte
	if _, err := io.ReadFull(u.r, two[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("the UTF-16 text ends in the middle of a character: copy or download it again")
		}
		return err
	}
	c := rune(two[0]) | rune(two[1])<<8
	if u.big {
		c = rune(two[1]) | rune(two[0])<<8
	}
	switch {
	case u.high != 0:
		c, u.high = utf16.DecodeRune(u.high, c), 0
	case c >= 0xd800 && c < 0xdc00:
		u.high = c
		return nil
	}
	u.text = utf8.AppendRune(u.text, c)
	return nil
}
