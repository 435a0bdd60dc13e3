package term

import (
	"bytes"
	"io"
	"strings"

	"github.com/ktrdr/ktrdr/internal/text"
)

// Words is w, where lines that are longer than a terminal is wide are broken between words.
// The rest of such a line is two columns further in than its beginning. What is no terminal gets
// the lines as they are.
func Words(w io.Writer) io.Writer {
	if !IsTerminal(w) {
		return w
	}
	return &words{w: w, columns: Width(w)}
}

type words struct {
	w       io.Writer
	columns int
	line    []byte // that has no end yet
}

// Fd is that of the terminal: tables in such a text fit its width.
func (x *words) Fd() uintptr { return x.w.(interface{ Fd() uintptr }).Fd() }

// Write implements io.Writer. A line is written when it has ended.
func (x *words) Write(b []byte) (int, error) {
	x.line = append(x.line, b...)
	for {
		i := bytes.IndexByte(x.line, '\n')
		if i < 0 {
			return len(b), nil
		}
		if _, err := io.WriteString(x.w, broken(string(x.line[:i]), x.columns)+"\n"); err != nil {
			return 0, err
		}
		x.line = x.line[i+1:]
	}
}

// broken breaks a line between words. A word that is longer than the line stays as it is.
func broken(line string, columns int) string {
	indent := line[:len(line)-len(strings.TrimLeft(line, " "))] + "  "
	var out strings.Builder
	at := 0
	for i, word := range strings.Split(line, " ") {
		n := text.Width(word)
		switch {
		case i == 0:
		case at+1+n > columns && at > len(indent):
			out.WriteString("\n" + indent)
			at = len(indent)
		default:
			out.WriteByte(' ')
			at++
		}
		out.WriteString(word)
		at += n
	}
	return out.String()
}
