package llm

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const maxLine = 1 << 20

var errLine = errors.New("a line of the answer is longer than any line may be")

// events reads server-sent events: lines of "field: value", ended by an empty
// one. Only data counts: both wire formats name the event in it as well.
type events struct {
	r *bufio.Reader
}

func newEvents(r io.Reader) *events { return &events{r: bufio.NewReader(r)} }

// next returns the data of the next event that has any; io.EOF after the last.
func (e *events) next() ([]byte, error) {
	var data []byte
	var some bool
	for {
		line, err := e.line()
		switch {
		case err == io.EOF && some: //nolint:errorlint // line returns it bare
			return data, nil // some servers leave out the last empty line
		case err != nil:
			return nil, err
		case len(line) == 0 && some:
			return data, nil
		}
		value, is := bytes.CutPrefix(line, []byte("data:"))
		if !is {
			continue
		}
		if some {
			data = append(data, '\n')
		}
		some = true
		data = append(data, bytes.TrimPrefix(value, []byte(" "))...)
		if len(data) > maxLine {
			return nil, errLine
		}
	}
}

// line returns the next line without its end. A line without an end is
// io.ErrUnexpectedEOF: the stream was cut.
func (e *events) line() ([]byte, error) {
	var long []byte
	for {
		part, err := e.r.ReadSlice('\n')
		long = append(long, part...)
		switch {
		case len(long) > maxLine:
			return nil, errLine
		case err == nil:
			return bytes.TrimRight(long, "\r\n"), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(long) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
	}
}
