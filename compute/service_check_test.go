package compute

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/market"
)

// slowShelf counts the blobs that are read, and how many of them at once.
type slowShelf struct {
	*shelf
	reads, now, most atomic.Int32
}

func (s *slowShelf) Open(ctx context.Context, h ktrdr.Hash) (ktrdr.BlobReader, error) {
	s.reads.Add(1)
	n := s.now.Add(1)
	for most := s.most.Load(); n > most && !s.most.CompareAndSwap(most, n); most = s.most.Load() {
	}
	time.Sleep(20 * time.Millisecond)
	s.now.Add(-1)
	return s.shelf.Open(ctx, h)
}

func newCheckDesk(t *testing.T, symbols ...string) (*Service, *slowShelf, *office, *library.Markets) {
	t.Helper()
	o := newOffice(t, 300, symbols...)
	slow := &slowShelf{shelf: o.blobs}
	markets := library.NewMarkets(o.store, o.blobs)
	desk, err := OpenService(ServiceConfig{
		Dir: o.dir, Library: library.NewLibrary(o.store, slow), Blobs: slow, Operations: o, Markets: markets, Ledger: o,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = desk.Close() })
	return desk, slow, o, markets
}

func TestCheckSeries_ReadsASeriesOnceForAllRequests(t *testing.T) {
	desk, slow, o, markets := newCheckDesk(t, "EURUSD")
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if c, err := desk.CheckSeries(t.Context(), "EURUSD", "1h"); err != nil || !c.OK {
				t.Errorf("check %+v, %v", c, err)
			}
		})
	}
	wg.Wait()
	if n := slow.reads.Load(); n != 1 {
		t.Errorf("the series was read %d times, want once", n)
	}
	b, err := o.library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	m, err := markets.Of(t.Context(), b)
	if err != nil {
		t.Fatal(err)
	}
	from := time.Unix(b.Time[100], 0).UTC()
	if _, err := markets.FixHoldout(t.Context(), m.ID, from); err != nil {
		t.Fatal(err)
	}
	if c, err := desk.CheckSeries(t.Context(), "EURUSD", "1h"); err != nil || !c.Until.Equal(from) || c.Report.Rows != 100 {
		t.Errorf("after the holdout was fixed: %d rows until %s, %v; want 100 until %s", c.Report.Rows, c.Until, err, from)
	}
	e, err := o.library.Info(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	o.b.SetBlob(e.File.SHA256, []byte("broken"))
	if c, err := desk.CheckSeries(t.Context(), "EURUSD", "1h"); err != nil || c.OK || c.Error == "" {
		t.Errorf("with a broken file: %+v, %v; want it told", c, err)
	}
}

func TestSeries_AtMostTwoAreInMemoryAtOnce(t *testing.T) {
	symbols := []string{"AAA", "BBB", "CCC", "DDD", "EEE", "FFF"}
	desk, slow, _, _ := newCheckDesk(t, symbols...)
	var wg sync.WaitGroup
	for _, s := range symbols {
		wg.Go(func() {
			if _, err := desk.CheckSeries(t.Context(), s, "1h"); err != nil {
				t.Error(err)
			}
		})
		wg.Go(func() {
			if _, err := desk.Bars(t.Context(), s, "1h", jobs.BarsQuery{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := slow.most.Load(); n > openedAtOnce {
		t.Errorf("%d series were read at once, want at most %d", n, openedAtOnce)
	}
}
