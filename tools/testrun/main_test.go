package main

import (
	"strings"
	"testing"
	"time"
)

func summaryOf(t *testing.T, events string, requireAll bool) (string, report) {
	t.Helper()
	var out strings.Builder
	r := report{out: &out, said: map[test][]string{}}
	r.read(strings.NewReader(events), nil)
	r.summary(requireAll)
	return out.String(), r
}

func TestReport_ShowsFailuresSkipsAndClosingLines(t *testing.T) {
	out, r := summaryOf(t, `
{"Action":"output","Package":"p","Test":"TestQuiet","Output":"--- PASS: TestQuiet\n"}
{"Action":"pass","Package":"p","Test":"TestQuiet"}
{"Action":"output","Package":"p","Test":"TestLoud","Output":"    x_test.go:9: got 1, want 2\n"}
{"Action":"fail","Package":"p","Test":"TestLoud"}
{"Action":"output","Package":"p","Test":"TestAbsent","Output":"=== RUN   TestAbsent\n"}
{"Action":"output","Package":"p","Test":"TestAbsent","Output":"    y_test.go:3: PostgreSQL is not installed\n"}
{"Action":"output","Package":"p","Test":"TestAbsent","Output":"--- SKIP: TestAbsent (0.00s)\n"}
{"Action":"skip","Package":"p","Test":"TestAbsent"}
{"Action":"output","Package":"p","Output":"PASS\n"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"output","Package":"q","Output":"?   \tq\t[no test files]\n"}
{"Action":"skip","Package":"q"}
not from go test
`, true)
	for _, want := range []string{
		"got 1, want 2", "1 failed", "FAIL\tp\t0.1s", "p TestAbsent: PostgreSQL is not installed", "no test may skip", "not from go test",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is missing from:\n%s", want, out)
		}
	}
	for _, noise := range []string{"TestQuiet", "PASS", "no test files"} {
		if strings.Contains(out, noise) {
			t.Errorf("%q is in:\n%s", noise, out)
		}
	}
	if len(r.skipped) != 1 || r.failures != 1 {
		t.Errorf("%d skipped, %d failed, want 1 and 1", len(r.skipped), r.failures)
	}
}

func TestReport_SaysNothingWhenAllIsWell(t *testing.T) {
	out, _ := summaryOf(t, `{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}`, true)
	if want := "ok  \tp\t0.1s\n"; out != want {
		t.Errorf("said %q, want %q", out, want)
	}
}

func TestReport_NamesButDoesNotRequireWhatIsKeptBesideTheProject(t *testing.T) {
	out, r := summaryOf(t, `
{"Action":"output","Package":"p","Test":"TestReal","Output":"    y_test.go:3: kept beside the project: the public data sets\n"}
{"Action":"skip","Package":"p","Test":"TestReal"}
`, true)
	if !strings.Contains(out, "p TestReal: kept beside the project") || strings.Contains(out, "no test may skip") {
		t.Errorf("said:\n%s", out)
	}
	if len(r.reasons) != 1 || required(r.reasons[0]) {
		t.Errorf("reasons %q are required", r.reasons)
	}
}

func TestReport_PrintsItsProgressWhenNothingElseIsPrinted(t *testing.T) {
	var out strings.Builder
	r := report{out: &out, said: map[test][]string{}}
	said := func() string {
		defer out.Reset()
		return out.String()
	}
	r.progress(time.Second)
	if got, want := said(), "    1s: packages done 0, tests done 0; building the tests\n"; got != want {
		t.Errorf("at first %q, want %q", got, want)
	}
	for _, e := range []event{
		{Action: "start", Package: "x/chaos"},
		{Action: "start", Package: "x/e2e"},
		{Action: "pass", Package: "x/e2e", Test: "TestOne"},
		{Action: "pass", Package: "x/e2e"},
		{Action: "output", Package: "x/e2e", Output: "ok\n"},
	} {
		r.take(e)
	}
	said()
	r.progress(20 * time.Second)
	if got := said(); got != "" {
		t.Errorf("after an ok %q, want nothing", got)
	}
	r.progress(30 * time.Second)
	if got, want := said(), "    30s: packages done 1, tests done 1; running chaos\n"; got != want {
		t.Errorf("later %q, want %q", got, want)
	}
}
