package labtest

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/ktrdr/ktrdr"
)

// steps is the file in which every process notes the steps it really does.
func (l *Lab) steps() string { return filepath.Join(l.dir, "steps") }

// auditSteps reads that account, which does not pass through the system under
// test. A result does not tell which process computed it and how often; here it shows
// whether one claim was worked on by two processes, or a step was left out.
func (l *Lab) auditSteps() {
	l.t.Helper()
	type claim struct {
		op    ktrdr.OperationID
		epoch ktrdr.Epoch
	}
	type work struct {
		pid         int
		first, last int64
	}
	f, err := os.Open(l.steps())
	if errors.Is(err, fs.ErrNotExist) {
		return // nothing was run
	}
	if err != nil {
		l.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	done := map[claim]work{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var c claim
		var step, at int64
		var pid int
		if _, err := fmt.Sscan(lines.Text(), &c.op, &c.epoch, &step, &at, &pid); err != nil {
			l.t.Fatalf("%s: %q: %v", l.steps(), lines.Text(), err)
		}
		w, seen := done[c]
		switch {
		case !seen:
			w = work{pid: pid, first: step}
		case w.pid != pid:
			l.t.Errorf("epoch %d of %s was worked on by processes %d and %d", c.epoch, c.op, w.pid, pid)
		case step != w.last+1:
			l.t.Errorf("epoch %d of %s did step %d after step %d", c.epoch, c.op, step, w.last)
		}
		w.last = step
		done[c] = w
	}
	claims := slices.SortedFunc(maps.Keys(done), func(a, b claim) int {
		return cmp.Or(cmp.Compare(a.op, b.op), cmp.Compare(a.epoch, b.epoch))
	})
	reached := map[ktrdr.OperationID]int64{} // by the epochs so far
	for _, c := range claims {
		if w := done[c]; w.first > reached[c.op]+1 {
			l.t.Errorf("epoch %d of %s began with step %d, but only %d were ever done", c.epoch, c.op, w.first, reached[c.op])
		}
		reached[c.op] = max(reached[c.op], done[c].last)
	}
}
