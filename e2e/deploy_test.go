package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/ktrdr/ktrdr/labtest"
	"github.com/ktrdr/ktrdr/research"
)

// alertRules is a file of alert rules, as Prometheus reads it.
type alertRules struct {
	Groups []struct {
		Name  string `yaml:"name"`
		Rules []struct {
			Alert       string            `yaml:"alert"`
			Expr        string            `yaml:"expr"`
			For         string            `yaml:"for"`
			Labels      map[string]string `yaml:"labels"`
			Annotations map[string]string `yaml:"annotations"`
		} `yaml:"rules"`
	} `yaml:"groups"`
}

// alertExpressions are the expressions of the alert rules.
func alertExpressions(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/prometheus/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var rules alertRules
	if err := yaml.UnmarshalWithOptions(text, &rules, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	for _, group := range rules.Groups {
		for _, r := range group.Rules {
			if r.Alert == "" || r.Labels["severity"] == "" || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("the rule %q lacks a name, a severity, a summary or a description", r.Alert)
			}
			exprs = append(exprs, r.Expr)
		}
	}
	return exprs
}

// dashboardExpressions are the expressions of the panels and of the variables.
func dashboardExpressions(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/grafana/ktrdr.json")
	if err != nil {
		t.Fatal(err)
	}
	var board struct {
		Panels []struct {
			ID      int    `json:"id"`
			Type    string `json:"type"`
			Title   string `json:"title"`
			Targets []struct {
				Expr string `json:"expr"`
			} `json:"targets"`
		} `json:"panels"`
		Templating struct {
			List []struct {
				Type  string `json:"type"`
				Query string `json:"query"`
			} `json:"list"`
		} `json:"templating"`
	}
	if err := json.Unmarshal(text, &board); err != nil {
		t.Fatal(err)
	}
	ids := map[int]bool{}
	for _, p := range board.Panels {
		if ids[p.ID] || p.Title == "" || p.Type != "row" && len(p.Targets) == 0 {
			t.Errorf("panel %d %q has no id of its own, no title or shows nothing", p.ID, p.Title)
		}
		ids[p.ID] = true
		for _, target := range p.Targets {
			exprs = append(exprs, target.Expr)
		}
	}
	for _, v := range board.Templating.List {
		if v.Type == "query" {
			exprs = append(exprs, v.Query)
		}
	}
	return exprs
}

// scalingExpressions are the metrics by which workers are scaled, as selectors.
func scalingExpressions(t *testing.T) (exprs []string) {
	t.Helper()
	text, err := os.ReadFile("../deploy/kubernetes/40-scaling.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for document := range strings.SplitSeq(string(text), "\n---\n") {
		var scaler struct {
			Spec struct {
				Metrics []struct {
					External struct {
						Metric struct {
							Name     string `yaml:"name"`
							Selector struct {
								Match map[string]string `yaml:"matchLabels"`
							} `yaml:"selector"`
						} `yaml:"metric"`
					} `yaml:"external"`
				} `yaml:"metrics"`
			} `yaml:"spec"`
		}
		if err := yaml.Unmarshal([]byte(document), &scaler); err != nil {
			t.Fatal(err)
		}
		for _, m := range scaler.Spec.Metrics {
			metric := m.External.Metric
			for label, value := range metric.Selector.Match {
				exprs = append(exprs, fmt.Sprintf("%s{%s=%q}", metric.Name, label, value))
			}
		}
	}
	if len(exprs) != 2 {
		t.Errorf("workers are scaled by %v", exprs)
	}
	return exprs
}

// scraped are the labels of each metric that a backend shows.
func (l *lab) scraped() map[string][]string {
	l.t.Helper()
	labels := map[string][]string{"up": nil} // Prometheus makes it
	for line := range strings.Lines(l.metrics()) {
		series, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, matched, _ := strings.Cut(series, "{")
		if strings.HasPrefix(name, "#") || name == "" {
			continue
		}
		for pair := range strings.SplitSeq(strings.TrimSuffix(matched, "}"), `",`) {
			if label, _, found := strings.Cut(pair, "="); found && !slices.Contains(labels[name], label) {
				labels[name] = append(labels[name], label)
			}
		}
		if _, found := labels[name]; !found {
			labels[name] = nil
		}
	}
	for name := range labels {
		labels[name] = append(labels[name], "job", "instance") // which Prometheus adds
	}
	return labels
}

// A dashboard, a rule or a scaling that names a metric or a label that does not exist is
// empty for ever, and says nothing.
func TestDeploy_DashboardAlertsAndScalingNameMetricsThatExist(t *testing.T) {
	t.Parallel()
	l := newLab(t, labtest.SQLite, labtest.Calm)
	l.ServeWith(1, "KTRDR_MODELS=local/m", "KTRDR_MODEL=local/m", "KTRDR_PROVIDERS=local=http://127.0.0.1:1/none",
		"KTRDR_MODEL_PRICES=local/m=1/5", "KTRDR_RETRY_MAX_RETRIES=0")
	l.completes(l.ask(research.Request{Brief: "asks a model", BypassGates: true, Force: true}), phases...)
	var have map[string][]string
	l.eventually("a scrape after the research", func() bool { // what the store was asked may be a second old
		have = l.scraped()
		return have["ktrdr_operations"] != nil
	})
	exprs := slices.Concat(alertExpressions(t), dashboardExpressions(t), scalingExpressions(t))
	if len(exprs) < 30 {
		t.Errorf("only %d expressions were read", len(exprs))
	}
	for _, expr := range exprs {
		q, err := readPromQL(expr)
		if err != nil {
			t.Error(err)
			continue
		}
		known := map[string]bool{}
		for _, s := range q.metrics {
			labels, found := have[s.name]
			if !found {
				t.Errorf("%s: a backend has no metric %s", expr, s.name)
			}
			for _, label := range s.labels {
				if found && !slices.Contains(labels, label) {
					t.Errorf("%s: %s has no label %s; it has %v", expr, s.name, label, labels)
				}
			}
			for _, label := range labels {
				known[label] = true
			}
		}
		for _, label := range q.grouped {
			if !known[label] {
				t.Errorf("%s: none of its metrics has the label %s; they have %v", expr, label, slices.Sorted(maps.Keys(known)))
			}
		}
	}
}

// metrics is what Prometheus would read.
func (l *lab) metrics() string {
	l.t.Helper()
	req, err := http.NewRequestWithContext(l.t.Context(), http.MethodGet, l.client.URL()+"/metrics", nil)
	if err != nil {
		l.t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		l.t.Fatal(err)
	}
	defer res.Body.Close() //nolint:errcheck // it was read
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		l.t.Fatalf("/metrics: %s %v", res.Status, err)
	}
	return string(text)
}
