package memsaver_test

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/memsaver"
	"github.com/ktrdr/ktrdr/savertest"
)

func TestSaver_Conforms(t *testing.T) {
	savertest.Run(t, func(*testing.T) ktrdr.Saver { return memsaver.New() })
}

func TestSaver_ExpiresOnlyThreadsWhoseTTLPassedSinceTheLastPut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := memsaver.New()
		put := func(thread string, ttl float64) {
			t.Helper()
			_, err := s.Put(t.Context(), ktrdr.ThreadPut{Thread: thread, Checkpoint: json.RawMessage(`{"id":"1"}`), TTLSeconds: ttl})
			if err != nil {
				t.Fatal(err)
			}
		}
		expire := func(want int) {
			t.Helper()
			if got, err := s.Expire(t.Context()); err != nil || got != want {
				t.Errorf("expired %d, %v; want %d", got, err, want)
			}
		}
		put("short", 60)
		put("renewed", 60)
		put("kept", 60)
		put("forever", 0)
		expire(0)
		time.Sleep(59 * time.Second)
		put("renewed", 60)
		put("kept", 0)
		expire(0)
		time.Sleep(time.Second)
		expire(1)
		time.Sleep(time.Hour)
		expire(1)
		for thread, want := range map[string]ktrdr.Code{"short": ktrdr.CodeNotFound, "renewed": ktrdr.CodeNotFound, "kept": "", "forever": ""} {
			if _, err := s.GetTuple(t.Context(), ktrdr.ThreadRef{Thread: thread}); ktrdr.CodeOf(err) != want {
				t.Errorf("%s: error %v, want code %q", thread, err, want)
			}
		}
	})
}
