package term

import (
	"bytes"
	"testing"
)

func TestWords_BreaksLongLinesBetweenWords(t *testing.T) {
	for line, want := range map[string]string{
		"short":                          "short",
		"":                               "",
		"  a line that is too long":      "  a line that\n    is too\n    long",
		"\x1b[32m✔\x1b[0m of 12 columns": "\x1b[32m✔\x1b[0m of 12\n  columns",
		"averyveryverylongword and":      "averyveryverylongword\n  and",
		"two  blanks":                    "two  blanks",
	} {
		if got := broken(line, 13); got != want {
			t.Errorf("%q is broken into %q, want %q", line, got, want)
		}
	}
}

func TestWords_LeavesAPipeAlone(t *testing.T) {
	var b bytes.Buffer
	if w := Words(&b); w != &b {
		t.Errorf("a pipe is written by way of %T", w)
	}
}

// A table inside of such a text must still know how wide the terminal is.
func TestWords_IsATerminalLikeWhatItWritesTo(t *testing.T) {
	if got := (&words{w: onFile{fd: 7}}).Fd(); got != 7 {
		t.Errorf("the descriptor is %d, want that of the terminal", got)
	}
	if _, ok := any(&words{}).(interface{ Fd() uintptr }); !ok {
		t.Error("tables take it for a pipe")
	}
}

type onFile struct {
	bytes.Buffer
	fd uintptr
}

func (f onFile) Fd() uintptr               { return f.fd }
func (onFile) Write(b []byte) (int, error) { return len(b), nil }
