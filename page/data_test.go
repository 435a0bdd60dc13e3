package page_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/market"
)

var loadID = regexp.MustCompile(`/operations/(op_data_load_[0-9a-f_]+)`)

// imported imports a file as a market of its own, and returns what the pages said.
func (b *browser) imported(name, file string) string {
	b.Helper()
	_, body := b.upload(name, file, "new_market", "1")
	checked := b.eventually("/data/import?op="+loadID.FindStringSubmatch(body)[1], "Nothing is stored yet")
	_, body = b.post("/data/import", formOf(b.T, checked))
	return checked + b.eventually("/data/import?op="+loadID.FindStringSubmatch(body)[1], "imported.")
}

func TestUpload_IsCheckedBeforeItIsStored(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	file := prices(1000)
	status, body := admin.upload("eurusd_1h.csv", file, "zone", "UTC")
	if status != http.StatusOK {
		t.Fatalf("the upload answers %d: %s", status, body)
	}
	found := loadID.FindStringSubmatch(body)
	if found == nil {
		t.Fatalf("no import was started: %s", body)
	}
	checked := admin.eventually("/data/import?op="+found[1], "Nothing is stored yet")
	has(t, checked, "Recognised: 1,000 bars of EURUSD 1h", "2020-01-06 00:00:00", `id="import-now"`,
		"ktrdr data import eurusd_1h.csv --symbol EURUSD")
	has(t, admin.get("/data"), "No prices yet.")

	status, body = admin.post("/data/import", formOf(t, checked))
	if status != http.StatusOK {
		t.Fatalf("the import answers %d: %s", status, body)
	}
	found = loadID.FindStringSubmatch(body)
	admin.eventually("/data/import?op="+found[1], "1,000 bars of EURUSD 1h imported.")
	has(t, admin.get("/data"), `href="/data/EURUSD/1h"`, "1,000")
	has(t, admin.get("/data/EURUSD/1h"), "eurusd_1h.csv", "800 bars checked, no error.")

	// The same again is refused, and says what to do next.
	_, body = admin.upload("eurusd_1h.csv", prices(1200))
	found = loadID.FindStringSubmatch(body)
	has(t, admin.eventually("/data/import?op="+found[1], "An import would be refused"), "mode append", "Exists already")
}

// What a file does not say itself is said in the form, as on the command line.
func TestUpload_TakesWhatTheFileDoesNotSay(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	file := "Date;Open;High;Low;Close;Adj Close;Volume\n"
	for day := 1; day <= 12; day++ {
		file += fmt.Sprintf("%02d/01/2020;1,100;1,300;1,100;1,200;1,150;5\n", day)
	}
	_, body := admin.upload("AAPL_1d.csv", file)
	id := loadID.FindStringSubmatch(body)[1]
	refused := admin.eventually("/data/import?op="+id, "cannot be imported")
	has(t, refused, "--decimal comma", `name="dates"`, `name="decimal"`, `name="adjusted"`)

	_, body = admin.upload("AAPL_1d.csv", file, "dates", "day-first", "decimal", "comma", "adjusted", "1")
	id = loadID.FindStringSubmatch(body)[1]
	checked := admin.eventually("/data/import?op="+id, "Nothing is stored yet")
	has(t, checked, "2020-01-12", "columns time (Date)", "decimal comma", " --dates day-first --decimal comma --adjusted",
		`value="day-first" selected`, `value="comma" selected`,
		`name="adjusted" value="1" checked`)
	_, body = admin.post("/data/import", formOf(t, checked))
	id = loadID.FindStringSubmatch(body)[1]
	admin.eventually("/data/import?op="+id, "12 bars of AAPL 1d imported.")
	has(t, admin.get("/data/AAPL/1d"), "scaled to the adjusted close")
}

func TestUpload_IsRefused(t *testing.T) {
	l := openLab(t)
	admin, reader := l.browser(ktrdr.ScopeAdmin), l.browser(ktrdr.ScopeRead)
	for name, c := range map[string]struct {
		as     *browser
		file   string
		text   string
		fields []string
		status int
		want   string
	}{
		"of a read token":       {reader, "eurusd_1h.csv", prices(10), nil, http.StatusForbidden, "needs an admin token"},
		"an empty file":         {admin, "eurusd_1h.csv", "", nil, http.StatusBadRequest, "the file is empty"},
		"a name that says none": {admin, "data.csv", prices(10), nil, http.StatusBadRequest, "of which symbol"},
		"no such zone":          {admin, "eurusd_1h.csv", prices(10), []string{"zone", "Mars/Base"}, http.StatusBadRequest, "no time zone"},
		"a divisor of words":    {admin, "eurusd_1h.csv", prices(10), []string{"divide", "many"}, http.StatusBadRequest, "divide must be"},
		"a symbol with a path":  {admin, "eurusd_1h.csv", prices(10), []string{"symbol", "../x"}, http.StatusBadRequest, ""},
		"a name turned around":  {admin, "eur\u202eusd_1h.csv", prices(10), []string{"symbol", "X"}, http.StatusBadRequest, "control characters"},
	} {
		t.Run(name, func(t *testing.T) {
			status, body := c.as.upload(c.file, c.text, c.fields...)
			if status != c.status || !strings.Contains(body, c.want) {
				t.Errorf("answers %d, want %d with %q: %s", status, c.status, c.want, body)
			}
		})
	}
	has(t, admin.get("/data"), "No prices yet.")
}

// A file with errors is told line by line, and nothing of it is stored.
func TestUpload_TellsWhatIsWrong(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	lines := strings.Split(prices(100), "\n")
	lines[5] = strings.Replace(lines[5], ",10", ",-10", 1)
	_, body := admin.upload("EURUSD_1h.csv", strings.Join(lines, "\n"))
	found := loadID.FindStringSubmatch(body)
	has(t, admin.eventually("/data/import?op="+found[1], "An import would be refused"), "EURUSD_1h.csv:6: negative-volume", "1 finding")
}

// The pages of data say when the holdout begins, and nothing of what is in it.
func TestData_ShowsNothingOfAHoldout(t *testing.T) {
	l := openLab(t)
	admin := l.browser(ktrdr.ScopeAdmin)
	file := prices(1000)
	all := admin.imported("EURUSD_1h.csv", file) + admin.get("/data") + admin.get("/data/EURUSD/1h")
	has(t, all, "800 bars checked", "not set yet; today it would be 2")
	for _, line := range strings.Split(strings.TrimSpace(file), "\n")[801:] {
		hasNot(t, all, strings.Split(line, ",")[4])
	}
}

// A person looks at a severe finding on the page of a series, and accepts it there.
func TestSeries_SevereFindingsAreAcceptedOnThePage(t *testing.T) {
	l := openLab(t)
	admin, reader := l.browser(ktrdr.ScopeAdmin), l.browser(ktrdr.ScopeRead)
	b := market.Synth(market.SynthConfig{Symbol: "EURUSD", Timeframe: market.H1, Bars: 1500, Seed: 7})
	for _, column := range [][]float64{b.Open, b.High, b.Low, b.Close} {
		for i := 700; i < len(column); i++ {
			column[i] *= 10
		}
	}
	var file bytes.Buffer
	if err := market.WriteCSV(&file, b); err != nil {
		t.Fatal(err)
	}
	has(t, admin.imported("eurusd_1h.csv", file.String()), "unit-jump")
	has(t, reader.get("/data"), "no research: unit-jump")
	const button = `action="/data/EURUSD/1h/accept"`
	has(t, admin.get("/data/EURUSD/1h"), "No research begins on these bars: 1 severe finding.", button,
		"ktrdr data accept EURUSD 1h unit-jump")
	if page := reader.get("/data/EURUSD/1h"); strings.Contains(page, button) {
		t.Error("a person who may only read is offered to accept")
	}
	form := url.Values{"findings": {"unit-jump"}}
	if status, body := reader.post("/data/EURUSD/1h/accept", form); status != http.StatusForbidden {
		t.Errorf("a read token accepts: %d %s", status, body)
	}
	if status, body := admin.post("/data/EURUSD/1h/accept", form); status != http.StatusOK || strings.Contains(body, button) ||
		!strings.Contains(body, "accepted by") {
		t.Errorf("after it was accepted: %d %s", status, body)
	}
	if strings.Contains(reader.get("/data"), "no research: unit-jump") {
		t.Error("the catalogue still says that research is refused")
	}
}
