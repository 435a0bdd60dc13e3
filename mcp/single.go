package mcp

import (
	"bufio"
	"io"
	"net/http"
)

// single refuses batches. The SDK answers all requests of a batch at once, and a body of
// MaxRequest bytes may hold hundreds of thousands of them. The protocol has no batches
// since its version 2025-06-18.
func single(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := bufio.NewReader(r.Body)
		if first, err := firstOf(body); err == nil && first == '[' {
			http.Error(w, "a batch is not answered: send one request at a time", http.StatusBadRequest)
			return
		}
		r.Body = struct {
			io.Reader
			io.Closer
		}{body, r.Body}
		next.ServeHTTP(w, r)
	})
}

// firstOf is the first character of a JSON text, which stays to be read.
func firstOf(text *bufio.Reader) (byte, error) {
	for {
		c, err := text.ReadByte()
		if err != nil {
			return 0, err
		}
		switch c {
		case ' ', '\t', '\r', '\n':
			continue
		}
		return c, text.UnreadByte()
	}
}
