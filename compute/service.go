package compute

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/instrument"
	"github.com/ktrdr/ktrdr/internal/cache"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/library"
	"github.com/ktrdr/ktrdr/neural"
)

// Operations is what the Service needs of the engine.
type Operations interface {
	Operation(ctx context.Context, id ktrdr.OperationID) (ktrdr.Operation, error)
	List(ctx context.Context, q ktrdr.OperationQuery) (ktrdr.OperationPage, error)
}

// ServiceConfig is what a Service is made of.
type ServiceConfig struct {
	Dir        string // the data folder: strategies/ and models/ are in it
	Library    *library.Library
	Blobs      library.Blobs
	Operations Operations
	Markets    MarketFinder
	Ledger     Looks
	Pins       Pins
	Fetcher    *fetch.Fetcher // of prices on the internet
	Holdout    float64        // share of the bars, at their end, of a market whose holdout has no start yet; 0 means 0.2
	Kernel     neural.Kernel  // whose class new trainings are computed in; zero means the fastest of this machine

	// Instruments reads the file of instruments, for what holding a position costs; nil
	// reads no file.
	Instruments func(context.Context) (instrument.File, error)

	MaxMemory int64         // refuse trainings that would take more; 0 means 16 GB
	MaxCPU    time.Duration // the same for the time of one core; 0 means 14 days
}

// Service takes requests and makes operations of them. All that can be known to be
// wrong is said here, before anything is created: a worker that could only fail
// is not bothered.
//
//	strategy  by text, by path in the data folder, or by name: a file of
//	          strategies/, else one that comes with the program
//	bars      the current series of the library, up to where the holdout of its
//	          market begins; no timeframe is made of another
//	model     of a training, by hash, or by path in the data folder
//
// It is safe for concurrent use.
type Service struct {
	cfg     ServiceConfig
	root    *os.Root
	decodes chan struct{} // bounds how many results are in memory at once
	answers chan struct{} // bounds how many predictions are computed at once
	opened  chan struct{} // bounds how many series that a request shows or checks are in memory at once
	checks  checks

	rebuilds chan struct{} // bounds how many compacted operations are computed again at once
	rebuilt  *cache.Cache[ktrdr.Hash, []byte]
}

// How many of each may be computed at once.
const (
	decodesAtOnce  = 2
	answersAtOnce  = 2
	openedAtOnce   = 2
	rebuildsAtOnce = 1
)

// OpenService opens the Service of a data folder, which must exist.
func OpenService(c ServiceConfig) (*Service, error) {
	c.MaxMemory, c.MaxCPU, c.Holdout = cmp.Or(c.MaxMemory, 16<<30), cmp.Or(c.MaxCPU, 14*24*time.Hour), cmp.Or(c.Holdout, library.UsualHoldout)
	root, err := os.OpenRoot(c.Dir)
	if err != nil {
		return nil, fmt.Errorf("data folder: %w", err)
	}
	return &Service{
		cfg: c, root: root, decodes: make(chan struct{}, decodesAtOnce),
		answers: make(chan struct{}, answersAtOnce), rebuilds: make(chan struct{}, rebuildsAtOnce),
		opened: make(chan struct{}, openedAtOnce), checks: checks{kept: cache.New[checkKey, jobs.SeriesCheck](keptChecks)},
		rebuilt: cache.New[ktrdr.Hash, []byte](maxRebuilt),
	}, nil
}

// Close closes the data folder.
func (d *Service) Close() error { return d.root.Close() }

func wrong(format string, args ...any) error { return ktrdr.Errorf(ktrdr.CodeInvalid, format, args...) }

// either is the value of a request that has a singular and a plural form.
func either(one string, many []string, names string) ([]string, error) {
	switch {
	case one != "" && len(many) > 0:
		return nil, wrong("%s are given both: give one of them", names)
	case one != "":
		return []string{one}, nil
	}
	return many, nil
}

// day reads a bound of a stretch of time. An end that is a day includes it.
func day(name, text string, end bool) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if t, err := time.Parse(time.DateOnly, text); err == nil {
		if end {
			t = t.AddDate(0, 0, 1)
		}
		return t, nil
	}
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return t, wrong("%s %q is not a date; write it as 2024-06-30 or 2024-06-30T12:00:00Z", name, text)
	}
	return t.UTC(), nil
}

func dates(first, last string) (start, end time.Time, err error) {
	if start, err = day("start_date", first, false); err != nil {
		return start, end, err
	}
	if end, err = day("end_date", last, true); err != nil {
		return start, end, err
	}
	if !start.IsZero() && !end.IsZero() && !start.Before(end) {
		return start, end, wrong("start_date and end_date: it ends at %s, not after its start at %s", end, start)
	}
	return start, end, nil
}

func operation(t ktrdr.Type, spec, metadata any) (ktrdr.NewOperation, error) {
	text, err := json.Marshal(spec)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("%s spec: %w", t, err)
	}
	about, err := json.Marshal(metadata)
	if err != nil {
		return ktrdr.NewOperation{}, fmt.Errorf("%s metadata: %w", t, err)
	}
	return ktrdr.NewOperation{Type: t, Spec: text, Metadata: about}, nil
}
