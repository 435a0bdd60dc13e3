package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"time"

	"github.com/ktrdr/ktrdr/api"
)

// beatEvery is how often a browser hears from the server. The script takes the
// server for lost after three seconds without a beat.
const beatEvery = time.Second

// Events tells that something happened.
type Events interface {
	// Changed returns a channel that is closed after the next committed event.
	Changed() <-chan struct{}
}

// beat is what a stream says once a second.
type beat struct {
	Backend string    `json:"backend"` // another one means that the server was restarted
	Started time.Time `json:"started"`
	Now     time.Time `json:"now"`
	Changed bool      `json:"changed"` // something happened since the last beat
}

// live is the one stream of a browser. It does not carry what changed: a tab that
// is looked at asks for its own fragment, at most once a second.
func (p *Pages) live(w http.ResponseWriter, r *http.Request) {
	if _, ok := api.Caller(r.Context()); !ok {
		p.fail(w, r, errSignedOut)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-store")
	out := http.NewResponseController(w)
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	checked := p.now()
	changed := p.events.Changed()
	b := beat{Backend: p.backend, Started: p.started, Changed: true}
	for {
		b.Now = p.now()
		if p.sessions != nil && b.Now.Sub(checked) > sessionCheck { // a revoked token ends the stream
			if _, err := p.Token(r); err != nil {
				return
			}
			checked = b.Now
		}
		if sendBeat(w, out, b) != nil {
			return
		}
		b.Changed = false
		for waiting := true; waiting; {
			select {
			case <-r.Context().Done():
				return
			case <-changed:
				b.Changed, changed = true, p.events.Changed()
			case <-tick.C:
				waiting = false
			}
		}
	}
}

// sessionCheck is how long a stream outlives its session.
const sessionCheck = 5 * time.Second

func sendBeat(w http.ResponseWriter, out *http.ResponseController, b beat) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	if err := out.SetWriteDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := fmt.Fprintf(w, "data: %s\n\n", text); err != nil {
		return err
	}
	return out.Flush()
}
