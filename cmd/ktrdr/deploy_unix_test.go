//go:build unix

package main

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// restarted says what systemd does, by a unit's own words, after such an end
// (see systemd.service(5), Restart=).
func restarted(t *testing.T, u map[string][]string, end syscall.WaitStatus) bool {
	t.Helper()
	clean := end.Exited() && end.ExitStatus() == 0 ||
		end.Signaled() && slices.Contains([]syscall.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGTERM, syscall.SIGPIPE}, end.Signal())
	never := end.Exited() && slices.Contains(u["Service.RestartPreventExitStatus"], strconv.Itoa(end.ExitStatus()))
	switch how := strings.Join(u["Service.Restart"], " "); how {
	case "on-failure":
		return !clean && !never
	case "always":
		return !never
	default:
		t.Fatalf("Restart=%s: this test does not know what that means", how)
		return false
	}
}

// noCores keeps a program that crashes from leaving a file, as the units do.
func noCores(t *testing.T) {
	t.Helper()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	limit.Cur = 0
	if err := syscall.Setrlimit(syscall.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
}

// The real program ends in every way, and the unit that supervises it is asked
// what it makes of that.
func TestUnits_AFinishIsNoCrashAndACrashIs(t *testing.T) {
	noCores(t)
	for file, begin := range map[string]func(l *lab) *process{
		"ktrdr.service":        func(l *lab) *process { p, _ := l.serve("--workers", "1"); return p },
		"ktrdr-worker.service": func(l *lab) *process { l.serve("--workers", "0"); return l.worker() },
	} {
		u := unit(t, deployed(t, file))
		for name, c := range map[string]struct {
			signal syscall.Signal
			want   bool
		}{
			"stopped by its supervisor": {syscall.SIGTERM, false},
			"stopped by hand":           {syscall.SIGINT, false},
			"killed":                    {syscall.SIGKILL, true},
			"crashed":                   {syscall.SIGQUIT, true}, // ends as a panic does
		} {
			t.Run(file+" "+name, func(t *testing.T) {
				t.Parallel()
				l := newLab(t, u["Service.Environment"]...)
				p := begin(l)
				p.stop(c.signal)
				end, ok := p.cmd.ProcessState.Sys().(syscall.WaitStatus)
				if got := ok && restarted(t, u, end); got != c.want {
					t.Errorf("ended with %v: restarted is %v, want %v", p.cmd.ProcessState, got, c.want)
				}
			})
		}
	}
}

func TestUnits_WrongSettingsAreNotTriedAgain(t *testing.T) {
	for file, args := range map[string][]string{
		"ktrdr.service":        {"serve", "--addr", "nowhere"},
		"ktrdr-worker.service": {"worker", "--types", "nonsense"},
	} {
		u := unit(t, deployed(t, file))
		a := newLab(t, u["Service.Environment"]...).run(args...)
		if restarted(t, u, syscall.WaitStatus(a.code<<8)) {
			t.Errorf("%s: after %v it is started again, and will end so again", file, a)
		}
	}
}

// Restarts are counted over a time that passes, so that a healthy while forgets
// them; and they come so seldom that the count can be reached at all.
func TestUnits_CrashesAreCountedAndForgotten(t *testing.T) {
	for _, file := range []string{"ktrdr.service", "ktrdr-worker.service"} {
		u := unit(t, deployed(t, file))
		one := func(key string) string {
			if len(u[key]) != 1 {
				t.Fatalf("%s: %s=%v", file, key, u[key])
			}
			return u[key][0]
		}
		span, err1 := time.ParseDuration(one("Unit.StartLimitIntervalSec"))
		pause, err2 := time.ParseDuration(one("Service.RestartSec"))
		most, err3 := strconv.Atoi(one("Unit.StartLimitBurst"))
		if err := errors.Join(err1, err2, err3); err != nil {
			t.Fatal(err)
		}
		if tried := time.Duration(most) * pause; span <= 0 || tried < 10*time.Minute || 2*tried > span {
			t.Errorf("%s: %d restarts every %v within %v: want some minutes of trying, and half of the time at most", file, most, pause, span)
		}
	}
}
