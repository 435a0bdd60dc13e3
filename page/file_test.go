package page_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"golang.org/x/net/html"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/report"
	"github.com/ktrdr/ktrdr/research"
	"github.com/ktrdr/ktrdr/resilience"
)

// fakeLab answers the API from a map of paths.
type fakeLab struct {
	answers map[string]any // an error is a refusal, a function answers by the query
}

func (l *fakeLab) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, known := l.answers[r.URL.Path]
	if !known {
		return nil, errors.New("no such path in the fake lab: " + r.URL.Path)
	}
	if by, ok := answer.(func(*http.Request) any); ok {
		answer = by(r)
	}
	status, body := http.StatusOK, any(map[string]any{"success": true, "data": answer})
	if err, ok := answer.(error); ok {
		status = http.StatusConflict
		body = map[string]any{"success": false, "error": map[string]any{"code": ktrdr.CodeOf(err), "message": err.Error()}}
	}
	if _, bare := answer.(ktrdr.Health); bare {
		body = answer
	}
	text, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: status, Body: io.NopCloser(bytes.NewReader(text)), Request: r}, nil
}

func (l *fakeLab) config(t *testing.T) page.Config {
	t.Helper()
	c, err := client.New("http://localhost", "", client.Options{Transport: l})
	if err != nil {
		t.Fatal(err)
	}
	return page.Config{Lab: c, Version: "1.2.3"}
}

// payload is what a model might write into every text. U+202E turns the direction
// of what follows.
const payload = "\u202egoal</title></style><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='alert(1)' " +
	"javascript:alert(1) \u2066"

// filled is a value of a type with text in every string of it, and one element in
// every list.
func filled[T any](text string) T {
	var v T
	fill(reflect.ValueOf(&v).Elem(), text, 0)
	return v
}

func fill(v reflect.Value, text string, depth int) {
	const deepest = 8
	if depth > deepest {
		return
	}
	switch v.Interface().(type) {
	case time.Time:
		v.Set(reflect.ValueOf(time.Date(2026, 11, 15, 3, 0, 0, 0, time.UTC)))
		return
	case json.RawMessage:
		return
	}
	if v.CanAddr() && v.Kind() != reflect.Struct {
		if _, own := reflect.TypeAssert[json.Unmarshaler](v.Addr()); own {
			return
		}
	}
	switch v.Kind() { //nolint:exhaustive // others stay as they are
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int64:
		v.SetInt(3)
	case reflect.Float64:
		v.SetFloat(0.1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), text, depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), text, depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				fill(v.Field(i), text, depth+1)
			}
		}
	}
}

// labOf is a lab in which every text is the same.
func labOf(text string) *fakeLab {
	return &fakeLab{answers: map[string]any{
		"/api/v1/report":        filled[report.Report](text),
		"/api/v1/report/search": filled[report.Search](text),
		"/api/v1/report/panel":  filled[report.Panel](text),
		"/api/v1/agent/status":  filled[research.Status](text),
		"/api/v1/leaderboard":   filled[report.Leaderboard](text),
		"/api/v1/memory":        filled[research.MemoryPage](text),
		"/api/v1/breakers":      []resilience.Status{filled[resilience.Status](text)},
		"/api/v1/runs":          []ktrdr.Run{filled[ktrdr.Run](text)},
	}}
}

func writeReport(t *testing.T, l *fakeLab) string {
	t.Helper()
	var out bytes.Buffer
	if err := page.WriteReport(t.Context(), l.config(t), &out, api.ReportRequest{Run: "run_1"}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestReportFile_IsInert(t *testing.T) {
	checkInert(t, writeReport(t, labOf(payload)))
}

// checkInert fails the test if a file can run a script, ask a host, send a form,
// or turn the direction of its text.
func checkInert(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("a mark turns the direction of %q", text[i:min(i+60, len(text))])
		}
	}
	if !strings.Contains(text, "goal&lt;/title&gt;") {
		t.Error("the payload is not in the file: the test shows nothing")
	}
	root, err := html.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "id" {
				if ids[a.Val] {
					t.Errorf("two elements have the id %q", a.Val)
				}
				ids[a.Val] = true
			}
		}
	}
	policy, style := "", ""
	for n := range root.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch n.Data {
		case "script", "form", "button", "input", "select", "img", "iframe", "link", "object", "base", "label":
			t.Errorf("the file has a <%s>", n.Data)
		case "style":
			style += n.FirstChild.Data
		}
		for _, a := range n.Attr {
			switch {
			case n.Data == "meta" && a.Key == "content" && strings.HasPrefix(a.Val, "default-src"):
				policy = a.Val
			case a.Key == "href" && !ids[strings.TrimPrefix(a.Val, "#")]:
				t.Errorf("a link leads to %q, which is not in the file", a.Val)
			case strings.HasPrefix(a.Key, "on"), strings.HasPrefix(a.Key, "data-"), a.Key == "src", a.Key == "style", a.Key == "action":
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			case strings.Contains(a.Val, "url(") && !ids[strings.TrimSuffix(strings.TrimPrefix(a.Val, "url(#"), ")")]:
				t.Errorf("<%s> has the attribute %s=%q", n.Data, a.Key, a.Val)
			}
		}
	}
	sum := sha256.Sum256([]byte(style))
	want := "default-src 'none'; style-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'; form-action 'none'; base-uri 'none'"
	if policy != want {
		t.Errorf("policy %q, want %q", policy, want)
	}
}

func TestReportFile_HasThePartsThatAPageLoadsLater(t *testing.T) {
	l := labOf("plain text")
	text := writeReport(t, l)
	if !strings.Contains(text, "What to try next</h2>") {
		t.Error("the suggestions are not in the file")
	}
	l.answers["/api/v1/memory"] = ktrdr.Errorf(ktrdr.CodeConflict, "the memory is <b>full")
	if text = writeReport(t, l); !strings.Contains(text, "This part is missing: the memory is &lt;b&gt;full.") {
		t.Error("the file does not say which part is missing, and why")
	}
	delete(l.answers, "/api/v1/memory") // the server went away
	err := page.WriteReport(t.Context(), l.config(t), io.Discard, api.ReportRequest{})
	if ktrdr.CodeOf(err) != ktrdr.CodeUnavailable {
		t.Errorf("without an answer: %v, want %s", err, ktrdr.CodeUnavailable)
	}
}

// A reader who may change everything gets a file that changes nothing.
func TestReportFile_HasNoActions(t *testing.T) {
	l := labOf("plain text")
	ctx := api.As(t.Context(), ktrdr.Token{ID: "t_admin", Scope: ktrdr.ScopeAdmin})
	var out bytes.Buffer
	if err := page.WriteReport(ctx, l.config(t), &out, api.ReportRequest{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"Cancel", "Pause", "Apply", "Next 50", "New research", "Sign out"} {
		if strings.Contains(out.String(), text) {
			t.Errorf("the file offers %q", text)
		}
	}
}

func TestReportFile_OfManyResearchesIsSmall(t *testing.T) {
	for _, n := range []int{200, 10_000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			l := labOf("a strategy of a model with a long name")
			board, search := filled[report.Leaderboard]("volatility_breakout"), filled[report.Search]("x")
			for len(board.Rows) < min(n, 300) {
				board.Rows = append(board.Rows, board.Rows[0])
			}
			search.Funnel.Tried = n
			for i := range n {
				trial := search.Trials[0]
				trial.N, trial.Sharpe = i+1, float64(i%700)/100-3
				search.Trials = append(search.Trials, trial)
			}
			l.answers["/api/v1/leaderboard"], l.answers["/api/v1/report/search"] = board, search
			text := writeReport(t, l)
			if len(text) > page.MaxFile {
				t.Errorf("%d bytes, want at most %d", len(text), page.MaxFile)
			}
			t.Logf("%d kB", len(text)>>10)
			if rows := strings.Count(text, "volatility breakout"); rows < min(n, 300) {
				t.Errorf("%d strategies in the file, want %d", rows, min(n, 300))
			}
		})
	}
}

func TestReportFile_SaysWhichRunItShows(t *testing.T) {
	l := labOf("run_1")
	told, run := filled[report.Report]("run_1"), ktrdr.Run{ID: "run_1", Goal: "mean reversion"}
	l.answers["/api/v1/report"], l.answers["/api/v1/runs"] = told, []ktrdr.Run{run}
	if want := "Sun 15 Nov 2026, 03:00 to Sun 15 Nov 2026, 03:00 UTC, run run_1: mean reversion"; !strings.Contains(writeReport(t, l), want) {
		t.Errorf("the file does not say %q", want)
	}
}

func TestReportFile_FailsWithTheAnswerOfTheLab(t *testing.T) {
	l := labOf("x")
	l.answers["/api/v1/report"] = ktrdr.Errorf(ktrdr.CodeNotFound, "there is no run run_1")
	err := page.WriteReport(context.WithoutCancel(t.Context()), l.config(t), io.Discard, api.ReportRequest{Run: "run_1"})
	if ktrdr.CodeOf(err) != ktrdr.CodeNotFound {
		t.Errorf("a run that is not there: %v, want %s", err, ktrdr.CodeNotFound)
	}
}
