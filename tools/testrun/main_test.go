package main

import (
	"strings"
	"testing"
)

func summaryOf(t *testing.T, events string, requireAll bool) (string, report) {
	t.Helper()
	var out strings.Builder
	r := report{out: &out, said: map[test][]string{}}
	r.read(strings.NewReader(events))
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
