package research

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

// lookedAt is a desk with 3000 bars of EURUSD. Its holdout begins at bar 1000, and looks
// have used the bars before bar 1500.
func lookedAt(t *testing.T, more ...string) (d *Desk, a *attic, at func(i int) time.Time) {
	t.Helper()
	bars := map[string]int{"EURUSD": 3000}
	for _, symbol := range more {
		bars[symbol] = 3000
	}
	d, a = newDesk(t, bars)
	b, err := d.cfg.Library.Get(t.Context(), "EURUSD", market.H1)
	if err != nil {
		t.Fatal(err)
	}
	at = func(i int) time.Time { return time.Unix(b.Time[i], 0).UTC() }
	a.from["mkt_EURUSD"], a.until["mkt_EURUSD"] = at(1000), time.Unix(b.Timeframe.End(b.Time[1499]), 0).UTC()
	return d, a, at
}

// from asks for a new holdout.
func from(symbols []string, at time.Time) Request {
	return Request{Symbols: symbols, Model: Builtin, HoldoutFrom: at.Format("2006-01-02 15:04")}
}

func TestDesk_ANewHoldoutBeginsAfterEveryLook(t *testing.T) {
	d, a, at := lookedAt(t)
	made, err := d.Trigger(t.Context(), from([]string{"EURUSD"}, at(1500)))
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, made.Operations[0])
	if !spec.HoldoutFrom.Equal(at(1500)) || !spec.Searched[0].To.Equal(a.until["mkt_EURUSD"]) || !spec.Sealed[0].From.Equal(at(1500)) {
		t.Errorf("holdout from %v, searched until %v, sealed from %v: want all that looks used searched, and %v", spec.HoldoutFrom,
			spec.Searched[0].To, spec.Sealed[0].From, at(1500))
	}
	want := ktrdr.NewHoldout{Market: "mkt_EURUSD", From: at(1500), HoldoutLength: ktrdr.HoldoutLength{
		Before: at(1000), LookedUntil: at(1499).Add(time.Hour), Until: at(2999).Add(time.Hour), Bars: 1500, BarsBefore: 500,
	}}
	if len(a.renew) != 1 || len(a.renew[0]) != 1 || a.renew[0][0] != want {
		t.Errorf("renewed: %+v, want %+v", a.renew, want)
	}
	if _, err := d.Trigger(t.Context(), from([]string{"EURUSD"}, at(1500))); err != nil || len(a.renew) != 1 {
		t.Errorf("the same again: %v, %d times renewed", err, len(a.renew))
	}
	made, err = d.Trigger(t.Context(), Request{Symbols: []string{"EURUSD"}, Model: Builtin})
	if err != nil || !specOf(t, made.Operations[0]).HoldoutFrom.Equal(at(1500)) {
		t.Errorf("a request without a date has not the newest holdout: %v", err)
	}
}

// A refusal names the rule, the earliest start and how many bars are missing.
func TestDesk_ANewHoldoutThatBreaksARuleIsRefused(t *testing.T) {
	d, a, at := lookedAt(t)
	minute := func(i int) string { return at(i).Format("2006-01-02 15:04") }
	for name, c := range map[string]struct {
		until, from int // bars
		want        []string
	}{
		"before the last bar of a look": {1500, 1499, []string{
			"a look has used bars until " + at(1499).Add(time.Hour).Format("2006-01-02 15:04"), "begins after the bars of every look",
			"The earliest possible start is", "0 are missing",
		}},
		"fewer bars than the old": {2200, 2200, []string{
			"it has 800 bars", "the holdout before it has 1200", "at least as long", "400 bars are missing",
			"from there 400 of 1200 bars are missing",
		}},
		"only later": {1800, 2300, []string{"it has 700 bars", "100 bars are missing", "0 are missing"}},
	} {
		a.until["mkt_EURUSD"] = at(c.until - 1).Add(time.Hour)
		request := from([]string{"EURUSD"}, at(c.from))
		for _, request.DryRun = range []bool{false, true} {
			_, err := d.Trigger(t.Context(), request)
			if ktrdr.CodeOf(err) != ktrdr.CodeInvalid {
				t.Errorf("%s: %v", name, err)
				continue
			}
			for _, want := range append(c.want, "earliest possible start is "+a.until["mkt_EURUSD"].Format("2006-01-02 15:04")) {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%s: %q does not say %q", name, err, want)
				}
			}
		}
	}
	a.until["mkt_EURUSD"] = at(999).Add(time.Hour)
	_, err := d.Trigger(t.Context(), from([]string{"EURUSD"}, at(1500)))
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "no look was made at the holdout of EURUSD") {
		t.Errorf("a holdout that no look has used was replaced: %v", err)
	}
	for _, wrong := range []string{"2024-13-01", "tomorrow", minute(1500) + "x"} {
		_, err := d.Trigger(t.Context(), Request{Symbols: []string{"EURUSD"}, HoldoutFrom: wrong})
		if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "is not a date; write it as") {
			t.Errorf("%q: %v", wrong, err)
		}
	}
	if len(a.renew) > 0 || !a.from["mkt_EURUSD"].Equal(at(1000)) {
		t.Errorf("a request that was refused has renewed %+v", a.renew)
	}
}

// Bars that are missing from the library cannot make the old holdout look short.
func TestDesk_ANewHoldoutIsComparedWithAllBarsOfTheOld(t *testing.T) {
	d, a, at := lookedAt(t)
	a.from["mkt_EURUSD"] = at(0).Add(-time.Hour)
	_, err := d.Trigger(t.Context(), from([]string{"EURUSD"}, at(1500)))
	if ktrdr.CodeOf(err) != ktrdr.CodeInvalid || !strings.Contains(err.Error(), "import the bars before") {
		t.Errorf("%v", err)
	}
}

func TestDesk_AMarketWhoseBudgetIsNotUsedKeepsItsHoldout(t *testing.T) {
	d, a, at := lookedAt(t, "GBPUSD")
	a.from["mkt_GBPUSD"] = at(1200)
	made, err := d.Trigger(t.Context(), from([]string{"EURUSD", "GBPUSD"}, at(1600)))
	if err != nil {
		t.Fatal(err)
	}
	spec := specOf(t, made.Operations[0])
	told := slices.ContainsFunc(made.Warnings, func(w string) bool { return strings.Contains(w, "no look was made at the holdout of GBPUSD") })
	if !spec.HoldoutFrom.Equal(at(1600)) || !spec.Searched[0].To.Equal(at(1199).Add(time.Hour)) || !told || len(a.renew[0]) != 1 {
		t.Errorf("holdout from %v, searched until %v, warnings %q: want the bars before both holdouts and a warning", spec.HoldoutFrom,
			spec.Searched[0].To, made.Warnings)
	}
}

func TestStart_ADryRunOfANewHoldoutStoresNothing(t *testing.T) {
	d, a, at := lookedAt(t)
	request := from([]string{"EURUSD"}, at(1500))
	request.DryRun = true
	got, err := d.Start(t.Context(), request, ktrdr.IdempotencyKey{})
	if err != nil {
		t.Fatal(err)
	}
	if p := got.Preview; p.Looks != 1 || !p.Series[0].HoldoutFrom.Equal(at(1500)) || p.Series[0].Searched != 1500 || len(a.renew) > 0 {
		t.Errorf("preview %+v, renewed %v: want the claim that is followed as the only look", p, a.renew)
	}
}
