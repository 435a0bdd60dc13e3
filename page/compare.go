package page

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/report"
)

func (p *Pages) routeCompare() {
	p.mux.HandleFunc("GET /compare", p.view("Compare", "compare", func(ctx context.Context, r *http.Request) (any, error) {
		return p.readCompare(ctx, readCompareQuery(r.URL.Query()))
	}))
}

// compareQuery is the query of the page.
type compareQuery struct {
	ids         []string
	scale, part string
}

func readCompareQuery(v url.Values) compareQuery {
	q := compareQuery{scale: v.Get("scale"), part: v.Get("part")}
	for _, given := range v["ids"] { // once for each checkbox, or all with commas
		for id := range strings.SplitSeq(given, ",") {
			if id = strings.TrimSpace(id); id != "" && !slices.Contains(q.ids, id) {
				q.ids = append(q.ids, id)
			}
		}
	}
	return q
}

// at is the URL of the page with this query.
func (q compareQuery) at() string {
	rest := make([]string, len(q.ids))
	for i, id := range q.ids {
		rest[i] = url.QueryEscape(id)
	}
	to := []string{"/compare?ids=" + strings.Join(rest, ",")}
	for _, f := range []field{{"scale", q.scale}, {"part", q.part}} {
		if f.Value != "" {
			to = append(to, f.Name+"="+url.QueryEscape(f.Value))
		}
	}
	return strings.Join(to, "&")
}

// choose is the URL with another part or scale.
func (q compareQuery) choose(name, value string) string {
	if name == "part" {
		q.part = value
	} else {
		q.scale = value
	}
	return q.at()
}

// comparison is the view of strategies side by side.
type comparison struct {
	Asked              int // strategies that were asked for
	Headline           string
	Lead               []phrase
	Chips              []chip
	Parts, Scales      []option // their values are links
	Command            string
	Equity, Scatter    template.HTML
	Bars               template.HTML
	EquityNote         string
	ScatterNote        string
	Rows               []comparedRow
	Trials, MaxP       string
	Letters            []string
	Correlation        []correlated
	Bets               string
	Differences, Other []comparedRow
	More, Same         string
}

// chip names one of the strategies. Its letter and colour are the same in every
// figure.
type chip struct {
	Letter, Class, ID, Handle, Strategy, Remove, Verdict, Mark string
}

// comparedRow is a line of a table. A row without cells is the title of those
// below.
type comparedRow struct {
	Name, Note string
	Cells      []comparedCell
}

type comparedCell struct {
	Text, Note, Mark string
	Strong, Dim      bool
}

// correlated is a row of the matrix.
type correlated struct {
	Letter string
	Cells  []comparedCell // Mark is the class of its colour
}

func (p *Pages) readCompare(ctx context.Context, q compareQuery) (comparison, error) {
	v := comparison{Asked: len(q.ids)}
	if len(q.ids) < report.FewestCompared || len(q.ids) > report.MostCompared {
		return v, nil
	}
	c, err := p.lab.Compare(ctx, q.ids...)
	if err != nil {
		return v, err
	}
	v.Command = "ktrdr compare " + strings.Join(q.ids, " ")
	v.choices(q)
	v.chips(&c, q)
	v.headline(&c)
	v.Equity, v.EquityNote = compareEquity(&c, q)
	v.Scatter, v.ScatterNote = compareScatter(&c)
	v.Bars = compareLooks(&c)
	v.figures(&c)
	v.correlation(&c)
	v.designs(&c)
	return v, nil
}

func (v *comparison) choices(q compareQuery) {
	for _, o := range []option{{Value: "both", Name: "Both"}, {Value: "test", Name: "Test"}, {Value: "holdout", Name: "Holdout"}} {
		o.Chosen = o.Value == q.partOrBoth()
		o.Value = q.choose("part", o.Value)
		v.Parts = append(v.Parts, o)
	}
	for _, o := range []option{{Value: "log", Name: "Log"}, {Value: "linear", Name: "Linear"}} {
		o.Chosen = (o.Value == "linear") == (q.scale == "linear")
		o.Value = q.choose("scale", o.Value)
		v.Scales = append(v.Scales, o)
	}
}

func (q compareQuery) partOrBoth() string {
	if q.part == "test" || q.part == "holdout" {
		return q.part
	}
	return "both"
}

// letterOf names the strategies A to E.
func letterOf(i int) string { return string(rune('A' + i)) }

func (v *comparison) chips(c *report.Compared, q compareQuery) {
	for i, s := range c.Strategies {
		rest := q
		rest.ids = slices.Delete(slices.Clone(q.ids), i, i+1)
		one := chip{
			Letter: letterOf(i), Class: "co" + strconv.Itoa(i+1), ID: string(s.Operation), Handle: s.Operation.Tail(),
			Strategy: ktrdr.ToPrintable(strategyName(s.Strategy)), Remove: rest.at(), Verdict: s.Standing, Mark: marks[s.Standing],
		}
		if s.Claim {
			one.Class += " on"
		}
		v.Chips, v.Letters = append(v.Chips, one), append(v.Letters, one.Letter)
	}
}

// headline says what is compared and what is left on the holdout.
func (v *comparison) headline(c *report.Compared) {
	noun, claims := "finalist", 0
	var reached, missed, sealed []string
	madeUp := false
	for i, s := range c.Strategies {
		madeUp = madeUp || s.MadeUp != nil && *s.MadeUp
		if s.Rung != ktrdr.RungFinalist {
			noun = "strategy"
		}
		switch {
		case s.Claim:
			claims++
			reached = append(reached, letterOf(i))
		case s.Look != nil:
			missed = append(missed, letterOf(i))
		default:
			sealed = append(sealed, letterOf(i))
		}
	}
	v.Headline = fmt.Sprintf("%s, %s.", plural(len(c.Strategies), noun), plural(claims, "claim"))
	say := func(letters []string, one, several string) {
		for i, l := range letters {
			switch {
			case i == 0:
			case i == len(letters)-1:
				v.Lead = append(v.Lead, phrase{Text: " and "})
			default:
				v.Lead = append(v.Lead, phrase{Text: ", "})
			}
			v.Lead = append(v.Lead, phrase{Text: l, Strong: true})
		}
		if len(letters) == 1 {
			v.Lead = append(v.Lead, phrase{Text: one})
		} else if len(letters) > 1 {
			v.Lead = append(v.Lead, phrase{Text: several})
		}
	}
	say(reached, " reaches on the holdout what its look needed. ", " reach on the holdout what their looks needed. ")
	say(missed, " was opened and does not reach what its look needed. ", " were opened and do not reach what their looks needed. ")
	say(sealed, " stays sealed: its holdout was not opened. ", " stay sealed: their holdouts were not opened. ")
	if madeUp {
		v.Lead = append(v.Lead, phrase{Text: "The prices are made up."})
	}
}

// figures are the table of figures. The rows of the holdout are there if one was
// opened.
func (v *comparison) figures(c *report.Compared) {
	v.MaxP, v.Trials = strconv.FormatFloat(c.MaxAdjustedP, 'g', 3, 64), count(c.Trials)
	add := func(name, note string, cell func(*report.ComparedStrategy) comparedCell) {
		row := comparedRow{Name: name, Note: note}
		for i := range c.Strategies {
			row.Cells = append(row.Cells, cell(&c.Strategies[i]))
		}
		v.Rows = append(v.Rows, row)
	}
	add("Verdict", "", func(s *report.ComparedStrategy) comparedCell {
		return comparedCell{Text: s.Standing, Mark: "v " + marks[s.Standing]}
	})
	opened := slices.ContainsFunc(c.Strategies, func(s report.ComparedStrategy) bool { return s.Look != nil })
	if opened {
		look := func(show func(*report.ComparedLook) comparedCell) func(*report.ComparedStrategy) comparedCell {
			return func(s *report.ComparedStrategy) comparedCell {
				if s.Look == nil {
					return comparedCell{Text: "sealed", Dim: true}
				}
				return show(s.Look)
			}
		}
		v.Rows = append(v.Rows, comparedRow{Name: "Holdout: the claim rests on this"})
		add("Sharpe ratio", "", look(func(l *report.ComparedLook) comparedCell { return withError(l.Sharpe, l.StandardError) }))
		add("Needed, about", "", look(func(l *report.ComparedLook) comparedCell { return comparedCell{Text: number(l.Needed, 2)} }))
		add("p-value of one look", "", look(func(l *report.ComparedLook) comparedCell { return comparedCell{Text: probability(l.P)} }))
		add("p-value multiplied by", "", look(func(l *report.ComparedLook) comparedCell { return comparedCell{Text: count(l.Counted)} }))
		add("p-value, adjusted", v.MaxP+" needed", look(func(l *report.ComparedLook) comparedCell {
			return comparedCell{Text: probability(l.Adjusted), Strong: true}
		}))
		add("Return", "", look(func(l *report.ComparedLook) comparedCell { return comparedCell{Text: percent(l.Return)} }))
		add("Buy and hold", "", look(func(l *report.ComparedLook) comparedCell { return comparedCell{Text: percent(l.BuyAndHold)} }))
	}
	v.Rows = append(v.Rows, comparedRow{Name: "Test part: the search chose by it"})
	text := func(show func(*report.ComparedStrategy) string) func(*report.ComparedStrategy) comparedCell {
		return func(s *report.ComparedStrategy) comparedCell { return comparedCell{Text: show(s)} }
	}
	add("Sharpe ratio", "", func(s *report.ComparedStrategy) comparedCell { return withError(s.Sharpe, s.StandardError) })
	add("Luck reaches", "best of "+v.Trials, text(func(s *report.ComparedStrategy) string { return number(s.Luck, 2) }))
	add("Deflated Sharpe", "0.5 needed", text(func(s *report.ComparedStrategy) string { return number(s.Deflated, 3) }))
	add("Return", "", text(func(s *report.ComparedStrategy) string { return percent(s.NetReturn) }))
	add("Buy and hold", "", text(func(s *report.ComparedStrategy) string { return percent(s.BuyAndHold) }))
	add("Beta / alpha z", "", text(func(s *report.ComparedStrategy) string { return number(s.Beta, 2) + " / " + number(s.AlphaZ, 2) }))
	add("Max drawdown", "", text(func(s *report.ComparedStrategy) string {
		if s.MaxDrawdown == nil {
			return missing
		}
		return percent(new(-*s.MaxDrawdown))
	}))
	add("Trades", "", text(func(s *report.ComparedStrategy) string { return count(s.Trades) }))
	add("Win rate", "", text(func(s *report.ComparedStrategy) string { return share(s.WinRate) }))
	add("Break-even cost", "", text(func(s *report.ComparedStrategy) string {
		if s.BreakEven == nil {
			return missing
		}
		return number(s.BreakEven, 1) + "×"
	}))
	add("Sharpe kept from training", "", text(func(s *report.ComparedStrategy) string { return share(s.Kept) }))
}

// withError is a ratio with its standard error.
func withError(v, e *float64) comparedCell {
	c := comparedCell{Text: number(v, 2), Strong: true}
	if v != nil && e != nil {
		c.Note = "± " + number(e, 2)
	}
	return c
}

// correlation is the lower half of the matrix.
func (v *comparison) correlation(c *report.Compared) {
	for i, row := range c.Correlation {
		r := correlated{Letter: letterOf(i)}
		for k := range row {
			cell := comparedCell{}
			switch x := row[k]; {
			case k > i:
			case k == i:
				cell.Text = "1"
			case x == nil:
				cell.Text = missing
			default:
				cell.Text, cell.Mark = chart.Number(*x, 2), heat(*x)
			}
			r.Cells = append(r.Cells, cell)
		}
		v.Correlation = append(v.Correlation, r)
	}
	if c.Bets != nil {
		v.Bets = fmt.Sprintf("These %d are about %s independent bets. A portfolio of them is one more strategy: it needs a research of its own.",
			len(c.Strategies), chart.Number(*c.Bets, 1))
	}
}

// heat is the class of a correlation: its sign and its size in five steps.
func heat(x float64) string {
	sign := "hp"
	if x < 0 {
		sign, x = "hn", -x
	}
	return fmt.Sprintf("%s h%d", sign, min(int(x*5), 4))
}

// designNames are the fields that people talk about.
var designNames = []field{
	{"nn_inputs", "Inputs"},
	{"training.labels.source", "Labels"},
	{"training.labels.max_holding_period", "Horizon, bars"},
	{"training.labels.horizon", "Horizon, bars"},
	{"model.type", "Model"},
	{"model.architecture.hidden_layers", "Hidden layers"},
	{"model.architecture.activation", "Activation"},
	{"model.architecture.dropout", "Dropout"},
	{"training.learning_rate", "Learning rate"},
	{"training.weight_decay", "Weight decay"},
	{"training.epochs", "Epochs"},
	{"training.batch_size", "Batch"},
	{"backtest.take_profit", "Take profit"},
	{"backtest.stop_loss", "Stop loss"},
	{"backtest.position_size", "Position size"},
	{"decisions.allow_short_from_flat", "Short allowed"},
	{"decisions.confidence_threshold", "Confidence needed"},
	{"decisions.filters.min_signal_separation", "Pause, bars"},
}

// designs are the fields in which the designs differ: the well-known ones, then
// indicators, then the rest.
func (v *comparison) designs(c *report.Compared) {
	row := func(name string, d report.DesignDifference) comparedRow {
		r := comparedRow{Name: name}
		usual := mostFrequent(d.Values)
		for _, value := range d.Values {
			r.Cells = append(r.Cells, comparedCell{Text: designText(value), Strong: value != usual, Dim: value == usual})
		}
		return r
	}
	rest := slices.Clone(c.Differences)
	take := func(name string, is func(report.DesignDifference) bool) {
		rest = slices.DeleteFunc(rest, func(d report.DesignDifference) bool {
			if is(d) {
				shown := name
				if shown == "" {
					_, shown, _ = strings.Cut(d.Path, ".")
				}
				v.Differences = append(v.Differences, row(shown, d))
				return true
			}
			return false
		})
	}
	take("", func(d report.DesignDifference) bool { return strings.HasPrefix(d.Path, "indicators.") })
	for _, known := range designNames {
		take(known.Value, func(d report.DesignDifference) bool { return d.Path == known.Name })
	}
	for _, d := range rest {
		v.Other = append(v.Other, row(d.Path, d))
	}
	v.More = have(len(v.Other), "more field", "differs", "differ")
	var same []string
	for _, known := range designNames {
		i := slices.IndexFunc(c.Same, func(f report.DesignField) bool { return f.Path == known.Name })
		if i >= 0 {
			same = append(same, strings.ToLower(known.Value)+" "+designText(c.Same[i].Value))
		}
	}
	if len(same) > 0 {
		v.Same = "The same in all: " + strings.Join(same, ", ") + "."
	}
}

func designText(value string) string {
	if value == "" {
		return "none"
	}
	return ktrdr.ToPrintable(strings.ReplaceAll(value, "_", " "))
}

// mostFrequent is the value that most have, or none if all are different.
func mostFrequent(values []string) string {
	best, most := "\x00", 1
	for _, v := range values {
		n := 0
		for _, w := range values {
			if v == w {
				n++
			}
		}
		if n > most {
			best, most = v, n
		}
	}
	return best
}
