package savertest

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/ktrdr/ktrdr/thread"
)

// stateSize is that of the states LangGraph's own savers were measured with.
const stateSize = 4096

// Bench measures the saver that open returns: puts and gets of 4 KB states, by
// one caller and by many at once, each in a thread of its own.
func Bench(b *testing.B, open func(b *testing.B) thread.Saver) {
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("Put/callers=%d", callers), func(b *testing.B) {
			s := open(b)
			var threads atomic.Int64
			b.SetParallelism(callers) // times GOMAXPROCS
			each := func(next func() bool) {
				threadID := fmt.Sprint("t", threads.Add(1))
				for i := 0; next(); i++ {
					if _, err := s.Put(b.Context(), stateOf(threadID, i)); err != nil {
						b.Error(err)
						return
					}
				}
			}
			if callers == 1 {
				each(b.Loop)
				return
			}
			if _, err := s.Put(b.Context(), stateOf("first", 0)); err != nil { // connecting is not measured
				b.Fatal(err)
			}
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) { each(pb.Next) })
		})
	}
	for _, which := range []string{"", step(500)} {
		b.Run(map[bool]string{true: "Get/latest", false: "Get/id"}[which == ""], func(b *testing.B) {
			s := open(b)
			for i := range 1000 {
				if _, err := s.Put(b.Context(), stateOf("t", i)); err != nil {
					b.Fatal(err)
				}
			}
			for b.Loop() {
				got, err := s.GetTuple(b.Context(), thread.Ref{Thread: "t", Checkpoint: which})
				if err != nil || len(got.Values["state"].Bytes) != stateSize {
					b.Fatalf("got %d bytes, %v", len(got.Values["state"].Bytes), err)
				}
			}
		})
	}
}

// stateOf is the i-th checkpoint of a thread: one channel changes, one does
// not.
func stateOf(threadID string, i int) thread.Put {
	p := thread.Put{
		Thread: threadID,
		Checkpoint: json.RawMessage(
			fmt.Sprintf(`{"v":4,"id":%q,"ts":"2026-01-01T00:00:00Z","channel_versions":{"state":%d,"brief":1},"versions_seen":{}}`, step(i), i+1)),
		NewVersions: map[string]json.RawMessage{"state": json.RawMessage(fmt.Sprint(i + 1))},
		Values:      map[string]thread.Value{"state": {Type: "json", Bytes: state(threadID, i)}},
		Metadata:    json.RawMessage(fmt.Sprintf(`{"source":"loop","step":%d}`, i)),
	}
	if i > 0 {
		p.Parent = step(i - 1)
		return p
	}
	p.NewVersions["brief"] = json.RawMessage("1")
	p.Values["brief"] = text("what was asked for")
	return p
}

// noise is text that does not compress to nothing.
var noise = func() (b []byte) {
	for i := 0; len(b) < stateSize; i++ {
		b = fmt.Appendf(b, "%x", sha256.Sum256([]byte{byte(i)}))
	}
	return b[:stateSize]
}()

// state returns a new state.
func state(threadID string, i int) []byte {
	return append(fmt.Appendf(nil, "%-16s", fmt.Sprint(threadID, "-", i)), noise[16:]...)
}
