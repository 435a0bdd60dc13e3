package assistant

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/market"
)

// An assistant appends bars of its own to a series that was never researched: the start
// of the holdout would move behind the bars that were in it.
func TestAssistant_AppendsNoBarsToSeeAHoldout(t *testing.T) {
	t.Parallel()
	l := labtest.New(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(1, "KTRDR_AUTH=token")
	_, admin := tokens(t, l)
	lab, err := client.New(l.Client().URL(), ktrdr.Secret(admin), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	secret, _, err := lab.CreateToken(t.Context(), "another", ktrdr.ScopeAssistant)
	if err != nil {
		t.Fatal(err)
	}
	all := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 4000, Seed: 1})
	a := overHTTP(t, l.Client().URL(), secret.Reveal())
	imports := func(b *market.Bars, mode string) {
		_, handles := a.use("import_prices", map[string]any{"content": csv(b), "symbol": "EURUSD", "timeframe": "1h", "mode": mode})
		a.waitFor(handles[0])
	}
	imports(all.Slice(0, 1000), "")
	before := shownTo(t, l, secret)
	imports(all.Slice(1000, 4000), "append")
	after := shownTo(t, l, secret)
	if !after.HoldoutFrom.Equal(before.HoldoutFrom) || after.Selected != before.Selected {
		t.Errorf("before the append it saw %d bars and the holdout began %s; then %d and %s", before.Selected, before.HoldoutFrom,
			after.Selected, after.HoldoutFrom)
	}
}

// shownTo is what a token sees of a series.
func shownTo(t *testing.T, l *labtest.Lab, token ktrdr.Secret) jobs.SeriesBars {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, l.Client().URL()+"/api/v1/data/EURUSD/1h/bars", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := (&http.Client{Transport: bearer(token.Reveal())}).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		Data jobs.SeriesBars `json:"data"`
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Data.Selected == 0 {
		t.Fatalf("%s: %v", text, err)
	}
	return answer.Data
}
