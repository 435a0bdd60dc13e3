package e2e

import (
	"fmt"
	"regexp"
	"slices"
	"testing"
)

// selector is a metric that an expression of PromQL names, with the labels that it
// is matched by.
type selector struct {
	name   string
	labels []string
}

// promQL is what an expression names.
type promQL struct {
	metrics []selector
	grouped []string // labels of by, without, on and the like
}

var (
	promToken    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[A-Za-z_:][A-Za-z0-9_:]*|[0-9][0-9a-zA-Z.]*|=~|!~|!=|==|<=|>=|\S`)
	promRange    = regexp.MustCompile(`\[[^\]]*\]`)
	promName     = regexp.MustCompile(`^[A-Za-z_:][A-Za-z0-9_:]*$`)
	promKeywords = []string{"and", "or", "unless", "bool", "offset"}
	promGroups   = []string{"by", "without", "on", "ignoring", "group_left", "group_right"}
	promCalls    = []string{"sum", "min", "max", "avg", "count", "rate", "increase", "histogram_quantile", "label_values"}
)

// readPromQL finds the metrics and labels of an expression. It knows as much of
// the grammar as our dashboard and alert rules use, and refuses functions that it
// does not know.
func readPromQL(expr string) (q promQL, err error) {
	tokens := promToken.FindAllString(promRange.ReplaceAllString(expr, ""), -1)
	at := func(i int) string {
		if i < len(tokens) {
			return tokens[i]
		}
		return ""
	}
	for i := 0; i < len(tokens); i++ {
		switch word := tokens[i]; {
		case !promName.MatchString(word), slices.Contains(promKeywords, word):
		case slices.Contains(promGroups, word):
			for i++; at(i) != ")" && i < len(tokens); i++ {
				if promName.MatchString(at(i)) {
					q.grouped = append(q.grouped, at(i))
				}
			}
		case word == "label_values": // of Grafana: a metric and a label
			q.metrics = append(q.metrics, selector{at(i + 2), []string{at(i + 4)}})
			i += 5
		case at(i+1) == "(" || slices.Contains(promGroups, at(i+1)):
			if !slices.Contains(promCalls, word) {
				return q, fmt.Errorf("%s: %q is a function that this test does not know", expr, word)
			}
		default:
			s := selector{name: word}
			if at(i+1) == "{" {
				for i += 2; at(i) != "}" && i < len(tokens); i++ {
					if promName.MatchString(at(i)) {
						s.labels = append(s.labels, at(i))
					}
				}
			}
			q.metrics = append(q.metrics, s)
		}
	}
	if len(q.metrics) == 0 {
		err = fmt.Errorf("%q names no metric", expr)
	}
	return q, err
}

func TestPromQL_NamesMetricsAndLabels(t *testing.T) {
	for expr, want := range map[string]string{
		`up`: "[{up []}] []",
		`sum by (a, b) (rate(m{c="x,y",d=~"$job"}[5m])) > 0.5 * max without (e) (n) and o == bool 2e9`: "[{m [c d]} {n []} {o []}] [a b e]",
		`histogram_quantile(0.95, sum(rate(h_bucket[$__rate_interval])) by (le))`:                      "[{h_bucket []}] [le]",
		`label_values(m, job)`: "[{m [job]}] []",
	} {
		q, err := readPromQL(expr)
		if got := fmt.Sprint(q.metrics, q.grouped); err != nil || got != want {
			t.Errorf("%s: %s %v, want %s", expr, got, err, want)
		}
	}
	for _, wrong := range []string{`summ(m)`, `1 + 2`} {
		if _, err := readPromQL(wrong); err == nil {
			t.Errorf("%s was read", wrong)
		}
	}
}
