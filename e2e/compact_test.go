package e2e

import (
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// A research that claims nothing is compacted. Its model, trades and equity are
// computed again on demand, and are those that were there before. One that is
// pinned keeps its files.
func TestCompaction_WhatIsNotKeptIsComputedAgain(t *testing.T) {
	onBoth(t, labtest.Calm, func(t *testing.T, l *lab) {
		p := l.ServeWith(2, "KTRDR_COMPACT=false")
		run := l.Research(research.Request{Brief: "EURUSD 1h", Count: 4, Seed: new(uint64(5)), BypassGates: true, Force: true}, "four")
		l.RunEnds(run.Run)
		var plain []shown
		for _, r := range run.Operations {
			if l.Op(r.Operation).Rung != ktrdr.RungFinalist {
				plain = append(plain, l.shows(r.Operation))
			}
		}
		if len(plain) < 2 {
			t.Fatalf("%d of 4 researches are no finalists, want two or more", len(plain))
		}
		gone, pinned := plain[0], plain[1]
		l.must("pin", string(pinned.Research))
		if code := p.End(syscall.SIGTERM); code != 0 {
			t.Fatalf("exit code = %d", code)
		}

		l.ServeWith(2, "KTRDR_COMPACT=true")
		l.Until(gone.Research, time.Minute, "compacted", func(op ktrdr.Operation) bool { return op.Compacted })
		l.eventually("its files to be in the trash", func() bool { return l.kept(gone) == 0 })
		l.purge(gone)
		l.showsStill(gone)
		if n := l.kept(gone); n != 0 {
			t.Errorf("%d files were stored again because they were read", n)
		}

		if op := l.Op(pinned.Research); op.Compacted || l.kept(pinned) != len(pinned.Files) {
			t.Errorf("the pinned research is compacted: %v; it keeps %d of %d files", op.Compacted, l.kept(pinned), len(pinned.Files))
		}
		l.showsStill(pinned)

		l.must("pin", string(gone.Research))
		if op := l.Op(gone.Research); op.Compacted || l.kept(gone) != len(gone.Files) {
			t.Errorf("pinned afterwards, it is compacted: %v; it keeps %d of %d files", op.Compacted, l.kept(gone), len(gone.Files))
		}
		l.showsStill(gone)
	})
}

// shown is what a person sees of a research.
type shown struct {
	Research   ktrdr.OperationID
	ResultHash ktrdr.Hash
	Spec       string
	Results    []string // of the research and its children
	Trades     []jobs.Trade
	Equity     []jobs.Point
	Files      map[ktrdr.Hash]string
}

func (l *lab) shows(id ktrdr.OperationID) shown {
	l.t.Helper()
	op := l.Op(id)
	s := shown{Research: id, Spec: string(op.Spec), Results: []string{string(op.Result)}, Files: map[ktrdr.Hash]string{}}
	s.ResultHash = decode[research.Result](l.t, op.Result).ResultHash
	for _, child := range l.Children(id) {
		child = l.Op(child.ID)
		s.Results = append(s.Results, string(child.Result))
		var columns []string
		page := 0
		if child.Type == ktrdr.Backtesting {
			columns, page = []string{"trades", "equity"}, 1000
		}
		r, _, err := l.client.Results(l.t.Context(), child.ID, columns, page, "")
		if err != nil {
			l.t.Fatalf("results of %s: %v", child.ID, err)
		}
		s.Trades, s.Equity = append(s.Trades, r.Trades...), append(s.Equity, r.Equity...)
		for _, a := range r.Artifacts {
			s.Files[a.SHA256] = l.file(child.ID, a.Artifact)
		}
	}
	if s.ResultHash == (ktrdr.Hash{}) || len(s.Trades) == 0 || len(s.Equity) == 0 || len(s.Files) != 2 {
		l.t.Fatalf("%s shows the hash %s, %d trades, %d points of equity, %d files; want some of each, and two files", id, s.ResultHash,
			len(s.Trades), len(s.Equity), len(s.Files))
	}
	return s
}

// file reads a file that an operation made; the client checks its hash.
func (l *lab) file(id ktrdr.OperationID, a ktrdr.Artifact) string {
	l.t.Helper()
	r, err := l.client.OpenFile(l.t.Context(), id, a)
	if err != nil {
		l.t.Fatalf("%s of %s: %v", a.Name, id, err)
	}
	defer func() { _ = r.Close() }()
	b, err := io.ReadAll(r)
	if err != nil {
		l.t.Fatalf("%s of %s: %v", a.Name, id, err)
	}
	return string(b)
}

// showsStill requires that a research shows what it showed before.
func (l *lab) showsStill(before shown) {
	l.t.Helper()
	if diff := cmp.Diff(before, l.shows(before.Research)); diff != "" {
		l.t.Errorf("%s shows something else now (-before +now):\n%s", before.Research, diff)
	}
}

// kept counts the files of a research that are in the blob store. It looks at the
// disk: a reader of the API would bring them back from the trash.
func (l *lab) kept(s shown) (n int) {
	l.t.Helper()
	for h := range s.Files {
		_, err := os.Stat(l.blob("", h))
		switch {
		case err == nil:
			n++
		case !os.IsNotExist(err):
			l.t.Fatal(err)
		}
	}
	return n
}

// purge deletes the files of a research from the trash, as the backend does after
// two minutes.
func (l *lab) purge(s shown) {
	l.t.Helper()
	for h := range s.Files {
		found, err := filepath.Glob(l.blob("trash", h) + ".*")
		if err != nil || len(found) != 1 {
			l.t.Fatalf("the trash holds %q of %s (%v), want one", found, h, err)
		}
		if err := os.Remove(found[0]); err != nil {
			l.t.Fatal(err)
		}
	}
}

func (l *lab) blob(under string, h ktrdr.Hash) string {
	name := h.String()
	return filepath.Join(l.Data(), "blobs", under, name[:2], name[2:4], name)
}
