package labtest

import (
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Terminal is a program on a terminal of its own: it is the controlling one, so that
// Ctrl-C sends a signal, and it can be resized.
type Terminal struct {
	*Process
	t      testing.TB
	master *os.File
	name   string // of the device
	before unix.Termios
	ended  chan struct{}

	mu    sync.Mutex
	raw   strings.Builder
	shown *Emulator
}

// OnTerminal starts a program on a terminal with a size.
func OnTerminal(t testing.TB, program Program, columns, rows int) *Terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal can be made here: %v", err)
	}
	t.Cleanup(func() { _ = master.Close() })
	x := &Terminal{t: t, master: master, shown: NewEmulator(columns, rows), ended: make(chan struct{})}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	x.name = "/dev/pts/" + strconv.Itoa(n)
	tty, err := os.OpenFile(x.name, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	x.setSize(columns, rows)
	x.before = x.settings()
	program.Env = WithEnv(program.Env, "TERM=xterm-256color")
	program.Stdin, program.Stdout, program.Stderr = tty, tty, tty
	program.terminal = true
	x.Process = Start(t, program)
	_ = tty.Close()
	go x.read()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("---- %s shows\n%s", x.Process.name, strings.Join(x.History(), "\n"))
		}
	})
	return x
}

func (x *Terminal) read() {
	defer close(x.ended)
	b := make([]byte, 32<<10)
	for {
		n, err := x.master.Read(b)
		x.mu.Lock()
		x.raw.Write(b[:n])
		_, _ = x.shown.Write(b[:n])
		x.mu.Unlock()
		if err != nil {
			return // the program has closed its end
		}
	}
}

func (x *Terminal) settings() unix.Termios {
	x.t.Helper()
	got, err := unix.IoctlGetTermios(int(x.master.Fd()), unix.TCGETS)
	if err != nil {
		x.t.Fatal(err)
	}
	return *got
}

func (x *Terminal) setSize(columns, rows int) {
	x.t.Helper()
	size := &unix.Winsize{Col: uint16(columns), Row: uint16(rows)} //nolint:gosec // small numbers
	if err := unix.IoctlSetWinsize(int(x.master.Fd()), unix.TIOCSWINSZ, size); err != nil {
		x.t.Fatal(err)
	}
}

// Resize gives the terminal another size, as a person does who drags its window.
func (x *Terminal) Resize(columns, rows int) {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	x.shown.Resize(columns, rows)
	x.setSize(columns, rows)
}

// Type sends keys to the program.
func (x *Terminal) Type(keys string) {
	x.t.Helper()
	if _, err := x.master.WriteString(keys); err != nil {
		x.t.Fatal(err)
	}
}

// CtrlC is the key that interrupts.
const CtrlC = "\x03"

// Lines is what the terminal shows now.
func (x *Terminal) Lines() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.Lines()
}

// History is what scrolled away and what is shown.
func (x *Terminal) History() []string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.History()
}

// Text is what the terminal shows now, in one text.
func (x *Terminal) Text() string { return strings.Join(x.Lines(), "\n") + "\n" }

// Raw is every byte that the program wrote.
func (x *Terminal) Raw() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.raw.String()
}

// Shows waits until the terminal shows all of some texts, and returns what it shows.
func (x *Terminal) Shows(texts ...string) string {
	x.t.Helper()
	var now string
	Eventually(x.t, 30*time.Second, "the terminal to show "+strings.Join(texts, " and "), func() bool {
		now = x.Text()
		for _, text := range texts {
			if !strings.Contains(now, text) {
				return false
			}
		}
		return true
	})
	return now
}

// Ended waits for the program to end and for the last byte of it, and returns its exit
// code.
func (x *Terminal) Ended(within time.Duration) int {
	x.t.Helper()
	code := x.Exit(within)
	select {
	case <-x.ended:
	case <-time.After(within):
		x.t.Fatalf("%s has ended, and its terminal is still open", x.Process.name)
	}
	return code
}

// Restored says whether the program left the terminal as it found it.
func (x *Terminal) Restored() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.shown.Restored() && x.settings() == x.before
}
