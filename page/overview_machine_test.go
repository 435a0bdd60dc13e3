package page

import (
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr/report"
)

func TestMachine_TheAxisHasInstantsForTheReadersZone(t *testing.T) {
	from := time.Date(2026, 11, 15, 18, 0, 0, 0, time.UTC)
	for lasts, want := range map[time.Duration][]string{
		4 * time.Hour:   {`datetime="2026-11-15T18:00:00Z" data-show="clock">18:00<`, `datetime="2026-11-15T22:00:00Z" data-show="clock">22:00<`},
		240 * time.Hour: {`datetime="2026-11-25T18:00:00Z" data-show="date">25 Nov 2026<`},
	} {
		html := string(drawLives([]report.ProcessLife{{Kind: "worker", Name: "box-1", From: from}}, from, from.Add(lasts)))
		for _, text := range want {
			if !strings.Contains(html, text) {
				t.Errorf("the axis of %v lacks %s:\n%s", lasts, text, html)
			}
		}
	}
}
