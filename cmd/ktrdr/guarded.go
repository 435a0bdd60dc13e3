package main

import (
	"bytes"
	"io"
	"os"
	"sync"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/ktrdr/ktrdr"
)

// guarded is standard output or standard error. On a terminal no character
// reaches it that turns the direction of text, no matter which code prints it. Bytes for a
// file or a program pass as they are. Escape sequences pass: the colours are
// our own, and plain removes those of others.
type guarded struct {
	file  *os.File
	guard bool

	mu  sync.Mutex
	cut []byte // the beginning of a character whose rest comes with the next write
}

func guard(f *os.File) *guarded {
	return &guarded{file: f, guard: term.IsTerminal(int(f.Fd()))}
}

// Fd is the file's descriptor, for who asks how wide the terminal is.
func (g *guarded) Fd() uintptr { return g.file.Fd() }

// Write implements io.Writer.
func (g *guarded) Write(b []byte) (int, error) {
	if !g.guard {
		return g.file.Write(b)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	text := append(g.cut, b...)
	whole := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				whole -= i
			}
			break
		}
	}
	g.cut = bytes.Clone(text[whole:])
	if _, err := g.file.Write(directed(text[:whole])); err != nil {
		return 0, err
	}
	return len(b), nil
}

// directed is text without what turns its direction or is a control character
// of more than one byte.
func directed(text []byte) []byte {
	return bytes.Map(func(r rune) rune {
		if r > 0x7f && !ktrdr.Printable(r) {
			return ' '
		}
		return r
	}, text)
}

// jsonLines writes each JSON text so that it may reach a terminal.
type jsonLines struct{ w io.Writer }

// Write implements io.Writer.
func (j jsonLines) Write(b []byte) (int, error) {
	if _, err := io.WriteString(j.w, jsonPlain(string(b))); err != nil {
		return 0, err
	}
	return len(b), nil
}
