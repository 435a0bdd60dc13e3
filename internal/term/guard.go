package term

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
// our own, and Plain removes those of others.
type guarded struct {
	file     *os.File
	terminal bool

	mu  sync.Mutex
	cut []byte // the beginning of a character whose rest comes with the next write
}

// Guard is a file such as standard output, safe to print on.
func Guard(f *os.File) io.Writer {
	return &guarded{file: f, terminal: term.IsTerminal(int(f.Fd()))}
}

// Fd is the file's descriptor, from which the width of the terminal is read.
func (g *guarded) Fd() uintptr { return g.file.Fd() }

// Write implements io.Writer.
func (g *guarded) Write(b []byte) (int, error) {
	if !g.terminal {
		return g.file.Write(b)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	text := append(g.cut, b...)
	intact := len(text)
	for i := 1; i < utf8.UTFMax && i <= len(text); i++ {
		if last := text[len(text)-i:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				intact -= i
			}
			break
		}
	}
	g.cut = bytes.Clone(text[intact:])
	if _, err := g.file.Write(directed(text[:intact])); err != nil {
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
