package term

import (
	"bytes"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestBar_IsAlwaysAsWideAsAsked(t *testing.T) {
	t.Setenv("LC_ALL", "en_GB.UTF-8")
	for _, part := range []float64{-1, 0, 0.001, 0.5, 0.999, 1, 7} {
		if n := utf8.RuneCountInString(Bar(part, 20)); n != 20 {
			t.Errorf("bar(%v) has %d columns, want 20", part, n)
		}
	}
	if got, want := Bar(0.5, 4), "██░░"; got != want {
		t.Errorf("bar(0.5) = %s, want %s", got, want)
	}
	t.Setenv("LC_ALL", "C")
	if got, want := Bar(0.5, 4), "##--"; got != want {
		t.Errorf("bar(0.5) = %s in a locale without UTF-8, want %s", got, want)
	}
}

func TestScreen_RedrawsInPlace(t *testing.T) {
	var b bytes.Buffer
	s := Screen{w: &b}
	s.Draw([]string{"one", "two"})
	s.Draw([]string{"three"})
	s.Above("an event")
	s.Draw([]string{"four"})
	want := "one\ntwo\n" + "\r\x1b[2A\x1b[J" + "three\n" + "\r\x1b[1A\x1b[J" + "an event\n" + "four\n"
	if got := b.String(); got != want {
		t.Errorf("drawn %q, want %q", got, want)
	}
}

func TestPlain_KeepsOthersFromTheTerminal(t *testing.T) {
	if got := Plain("evil\x1b]0;title\x07\r\nname\u009b1m"); strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r == 0x9b }) {
		t.Errorf("plain left control characters in %q", got)
	}
	const turned = "safe\u202etxt.exe\u2066\u200f\u061c"
	if got, want := Plain(turned), "safe txt.exe   "; got != want {
		t.Errorf("plain = %q, want %q", got, want)
	}
	if got, want := Plain("naïve ✔"), "naïve ✔"; got != want {
		t.Errorf("plain = %q, want %q", got, want)
	}
}

func TestBrief_SaysDurationsAsPeopleDo(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 1234 * time.Millisecond: "1.2s", 59400 * time.Millisecond: "59s",
		90 * time.Minute: "1h30m", 50 * time.Hour: "2d",
	} {
		if got := Brief(d); got != want {
			t.Errorf("brief(%v) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0 B", 1023: "1023 B", 1 << 20: "1.0 MB", 3 << 40: "3.0 TB"} {
		if got := Bytes(n); got != want {
			t.Errorf("bytesText(%d) = %s, want %s", n, got, want)
		}
	}
}
