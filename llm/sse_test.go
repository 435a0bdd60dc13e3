package llm

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func readEvents(r io.Reader) (all []string, err error) {
	for e := newEvents(r); ; {
		data, err := e.next()
		if err != nil {
			return all, err
		}
		all = append(all, string(data))
	}
}

func TestEvents_ReadsEveryFormOfAStream(t *testing.T) {
	for name, c := range map[string]struct {
		stream string
		want   []string
		err    error
	}{
		"plain":               {"data: a\n\ndata: b\n\n", []string{"a", "b"}, io.EOF},
		"carriage returns":    {"event: x\r\ndata: a\r\n\r\n", []string{"a"}, io.EOF},
		"no space":            {"data:a\n\n", []string{"a"}, io.EOF},
		"several lines":       {"data: a\ndata: b\n\n", []string{"a\nb"}, io.EOF},
		"comments and fields": {": hi\nid: 1\nretry: 5\n\ndata: a\n\n", []string{"a"}, io.EOF},
		"no last empty line":  {"data: a\n", []string{"a"}, io.EOF},
		"empty data":          {"data:\n\n", []string{""}, io.EOF},
		"cut in a line":       {"data: a\n\ndata: {\"b", []string{"a"}, io.ErrUnexpectedEOF},
		"nothing":             {"", nil, io.EOF},
		"a line too long":     {"data: " + strings.Repeat("x", maxLine), nil, errLine},
		"lines too many":      {strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 2000), nil, errLine},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.stream), iotest.OneByteReader(strings.NewReader(c.stream))} {
				got, err := readEvents(r)
				if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
					t.Errorf("events = %.50q, %v; want %.50q, %v", got, err, c.want, c.err)
				}
			}
		})
	}
}

// Whatever a server says, reading it ends with an answer that can be stored or
// with an error.
func FuzzReaders_NeverPanic(f *testing.F) {
	f.Add([]byte("data: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"a\"," +
		"\"name\":\"b\"}}\n\n"))
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"tool_calls\":[{\"index\":-1,\"function\":{\"arguments\":\"{}\"}}]}," +
		"\"finish_reason\":\"stop\"}]}\n\n"))
	f.Add([]byte(`{"error":{"code":[],"message":{}}}`))
	c := &client{cfg: ClientConfig{Name: "fuzz", Key: "sk-0123456789"}, secret: newSecret("sk-0123456789", "/v1")}
	f.Fuzz(func(t *testing.T, body []byte) {
		r := Request{Messages: []Message{{Role: User, Parts: []Part{{Text: "q"}}}}}
		for _, read := range []func(*draft, Request, io.Reader) (Answer, error){readAnthropic, readOpenAI, readUnstreamed} {
			a, err := read(&draft{client: c}, r, bytes.NewReader(body))
			if err != nil {
				continue
			}
			text, err := encode(a)
			if err != nil || bytes.Contains(text, []byte(`\u0000`)) || bytes.Contains(text, []byte("sk-0123456789")) {
				t.Errorf("answer cannot be stored: %s, %v", text, err)
			}
		}
		readComplaint(body)
	})
}
