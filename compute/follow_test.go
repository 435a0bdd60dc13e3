package compute

import (
	"context"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/fetch"
	"github.com/ktrdr/ktrdr/jobs"
)

// submitted takes operations.
type submitted struct {
	keys []string
	ops  []ktrdr.NewOperation
}

func (s *submitted) Submit(_ context.Context, op ktrdr.NewOperation, key ktrdr.IdempotencyKey) (ktrdr.Operation, error) {
	s.keys, s.ops = append(s.keys, key.Key), append(s.ops, op)
	return ktrdr.Operation{ID: op.ID}, nil
}

// A clock that was a year ahead for a moment does not end the fetches of a series.
func TestFollower_ContinuesWhenTheClockGoesBack(t *testing.T) {
	o := newOffice(t, 0)
	f, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.desk.cfg.Fetcher = f
	series := jobs.Follow{Source: "kraken", Symbol: "XBTUSD", Timeframe: "1h", As: "BTC", Seconds: 3600}
	if err := o.library.Follow(t.Context(), series); err != nil {
		t.Fatal(err)
	}
	s := &submitted{}
	follower := NewFollower(o.desk, s)
	now := time.Now().UTC().Truncate(time.Hour).Add(10 * time.Minute)
	for _, at := range []time.Time{now, now.AddDate(1, 0, 0), now.Add(time.Hour), now.Add(time.Hour + time.Minute), now.Add(2 * time.Hour)} {
		if _, err := follower.Follow(t.Context(), at); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.keys) != 4 {
		t.Errorf("started %v, want a fetch for each of the 4 turns", s.keys)
	}
}

// What a source refuses is an operation that fails, so that it is seen where what is followed
// is listed, and not in the log alone.
func TestFollower_StartsWhatItsSourceRefuses(t *testing.T) {
	o := newOffice(t, 0)
	f, err := fetch.New(fetch.Config{})
	if err != nil {
		t.Fatal(err)
	}
	o.desk.cfg.Fetcher = f
	gone := jobs.Follow{Source: "my-broker", Symbol: "XBTUSD", Timeframe: "1h", As: "BTC", Seconds: 3600}
	if err := o.library.Follow(t.Context(), gone); err != nil {
		t.Fatal(err)
	}
	s := &submitted{}
	at := time.Now().UTC().Truncate(time.Hour).Add(10 * time.Minute)
	if _, err := NewFollower(o.desk, s).Follow(t.Context(), at); err != nil || len(s.ops) != 1 {
		t.Fatalf("%d operations, %v, want 1 that can fail", len(s.ops), err)
	}
	if spec, err := ktrdr.ParseSpec[jobs.FetchSpec](s.ops[0].Spec); err != nil || spec.Source != "my-broker" || spec.Turn == 0 {
		t.Errorf("it would run %+v, %v", spec, err)
	}
}
