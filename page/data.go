package page

import (
	"context"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/chart"
	"github.com/ktrdr/ktrdr/client"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
	"github.com/ktrdr/ktrdr/quality"
)

func (p *Pages) routeData() {
	p.mux.HandleFunc("GET /data", p.view("Data", "data", func(ctx context.Context, _ *http.Request) (any, error) { return p.readData(ctx) }))
	p.mux.HandleFunc("GET /data/import", p.view("Import prices", "import", p.readImport))
	p.mux.HandleFunc("POST "+api.UploadPath, p.act(p.upload))
	p.mux.HandleFunc("POST /data/import", p.act(p.startImport))
	p.mux.HandleFunc("GET /data/{symbol}/{timeframe}", p.view("Series", "series", p.readSeries))
	p.mux.HandleFunc("POST /data/{symbol}/{timeframe}/market", p.act(p.decideMarket))
	p.mux.HandleFunc("POST /data/{symbol}/{timeframe}/accept", p.act(p.acceptFindings))
	p.mux.HandleFunc("POST /data/{symbol}/{timeframe}/delete", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		_, err := client.Call(ctx, p.lab, api.DeleteSeries, seriesIn(r))
		return "/data", err
	}))
	p.mux.HandleFunc("POST /data/{symbol}/{timeframe}/rename", p.act(func(ctx context.Context, r *http.Request) (string, error) {
		in := jobs.RenameRequest{Symbol: r.PathValue("symbol"), NewSymbol: strings.TrimSpace(r.PostFormValue("new_symbol"))}
		_, err := client.Call(ctx, p.lab, api.RenameSeries, in)
		return seriesPath(in.NewSymbol, r.PathValue("timeframe")), err
	}))
}

func seriesIn(r *http.Request) api.SeriesRequest {
	return api.SeriesRequest{Symbol: r.PathValue("symbol"), Timeframe: r.PathValue("timeframe")}
}

func seriesPath(symbol, timeframe string) string {
	return "/data/" + url.PathEscape(symbol) + "/" + url.PathEscape(timeframe)
}

// catalogue is the view of all series.
type catalogue struct {
	Headline, Lead, Years string
	Rows                  []seriesRow
	Questions             []marketQuestion
	May                   bool
}

// seriesRow is a series of the catalogue.
type seriesRow struct {
	Symbol, Timeframe, Path, First, Last, Bars, Size, Origin, Source, Market, Holdout, Problem string
	Trials, Looks, Refused, Behind                                                             string
	MadeUp                                                                                     bool
	// Of the bar that shows its time, in percent.
	X, Searched, HoldoutX, Sealed string
}

// marketQuestion is what a person must decide about a series.
type marketQuestion struct {
	Symbol, Timeframe, Path, Text, Command, Back string
	Others                                       []string // symbols that it may be the same as
}

func (p *Pages) readData(ctx context.Context) (catalogue, error) {
	all, err := client.Call(ctx, p.lab, api.Series, api.None{})
	if err != nil {
		return catalogue{}, err
	}
	v := catalogue{May: may(ctx)}
	if len(all) == 0 {
		v.Headline, v.Lead = "No prices yet.", "Import a CSV or Parquet file with time, open, high, low and close."
		return v, nil
	}
	bars := 0
	from, to := all[0].First, all[0].Last
	for i := range all {
		bars += all[i].Bars
		if f := all[i].First; !f.IsZero() && f.Before(from) {
			from = f
		}
		if all[i].Last.After(to) {
			to = all[i].Last
		}
	}
	v.Headline = fmt.Sprintf("%d series, %s bars.", len(all), count(bars))
	v.Lead = "Filled: searched. Dotted: holdout. Trials and holdout looks are counted per market."
	v.Years = fmt.Sprintf("%d to %d", from.Year(), to.Year())
	for i := range all {
		s := &all[i]
		v.Rows = append(v.Rows, seriesOf(s, from, to))
		if s.MarketQuestion != "" && v.May {
			v.Questions = append(v.Questions, questionOf(s, all, "/data"))
		}
	}
	return v, nil
}

// seriesOf is a row. Its bar lies between the first and the last time of all.
func seriesOf(s *jobs.LibrarySeries, from, to time.Time) seriesRow {
	r := seriesRow{
		Symbol: s.Symbol, Timeframe: s.Timeframe, Path: seriesPath(s.Symbol, s.Timeframe), First: dayOf(s.First), Last: dayOf(s.Last),
		Bars: count(s.Bars), Size: size(s.Size), Origin: originWord(s.Origin), Source: s.Source, Market: s.Market,
		Holdout: "not set yet", Problem: s.Problem, Trials: count(s.Trials), Looks: count(s.Looks), MadeUp: s.MadeUp != nil && *s.MadeUp,
	}
	if open := jobs.Unaccepted(s.Findings, s.Accepted); len(open) > 0 {
		r.Refused = "no research: " + strings.Join(rulesOf(open), ", ")
	}
	if s.Follow != nil {
		r.Behind = s.Follow.Trouble()
	}
	if s.Market == "" {
		r.Market, r.Trials, r.Looks = "undecided", missing, missing
	}
	if !s.HoldoutFrom.IsZero() {
		r.Holdout = dayOf(s.HoldoutFrom)
	}
	width := max(to.Sub(from).Seconds(), 1)
	at := func(t time.Time) float64 { return 100 * t.Sub(from).Seconds() / width }
	end := s.Last
	if h := s.HoldoutFrom; !h.IsZero() && h.Before(s.Last) {
		end = h
		if h.Before(s.First) {
			end = s.First
		}
	}
	r.X, r.Searched = chart.Number(at(s.First), 2), chart.Number(max(at(end)-at(s.First), 0), 2)
	r.HoldoutX, r.Sealed = chart.Number(at(end), 2), chart.Number(max(at(s.Last)-at(end), 0), 2)
	return r
}

func dayOf(t time.Time) string {
	if t.IsZero() {
		return missing
	}
	return t.UTC().Format(time.DateOnly)
}

// originWord says where bars come from.
func originWord(origin string) string {
	switch origin {
	case "":
		return missing
	case "synth":
		return "generated"
	case "resample":
		return "resampled"
	case "rename":
		return "renamed"
	}
	return origin
}

func questionOf(s *jobs.LibrarySeries, all []jobs.LibrarySeries, back string) marketQuestion {
	q := marketQuestion{
		Symbol: s.Symbol, Timeframe: s.Timeframe, Path: seriesPath(s.Symbol, s.Timeframe) + "/market", Text: s.MarketQuestion,
		Command: "ktrdr data market " + s.Symbol + " " + s.Timeframe + " --same-market-as SYMBOL", Back: back,
	}
	for i := range all {
		if o := &all[i]; o.Market != "" && o.Symbol != s.Symbol && !slices.Contains(q.Others, o.Symbol) {
			q.Others = append(q.Others, o.Symbol)
		}
	}
	return q
}

// decideMarket answers the form: one of the symbols, or a new market.
func (p *Pages) decideMarket(ctx context.Context, r *http.Request) (string, error) {
	in := jobs.MarketRequest{Symbol: r.PathValue("symbol"), Timeframe: r.PathValue("timeframe")}
	in.SameMarketAs = r.PostFormValue("same_market_as")
	in.NewMarket = in.SameMarketAs == ""
	_, err := client.Call(ctx, p.lab, api.DecideMarket, in)
	return seriesPath(in.Symbol, in.Timeframe), err
}

// acceptFindings accepts the findings that the page named when it asked.
func (p *Pages) acceptFindings(ctx context.Context, r *http.Request) (string, error) {
	in := seriesIn(r)
	rules := strings.Fields(r.PostFormValue("findings"))
	_, err := client.Call(ctx, p.lab, api.AcceptFindings, jobs.AcceptRequest{Symbol: in.Symbol, Timeframe: in.Timeframe, Findings: rules})
	return seriesPath(in.Symbol, in.Timeframe), err
}

func rulesOf(found []quality.ContentFinding) (rules []string) {
	for _, f := range found {
		if !slices.Contains(rules, string(f.Rule)) {
			rules = append(rules, string(f.Rule))
		}
	}
	return rules
}

func acceptCommand(symbol, timeframe string, found []quality.ContentFinding) string {
	return "ktrdr data accept " + symbol + " " + timeframe + " " + strings.Join(rulesOf(found), " ")
}

// series is the view of one series.
type series struct {
	seriesRow
	Facts    []fact
	Reason   string
	Question *marketQuestion
	Check    checkView
	Accept   *action       // lets research begin in spite of severe findings
	Prices   template.HTML // the closes up to the holdout
	Delete   *action
	Rename   string // the command; empty: it may not be renamed
}

// checkView is what a check of bars found.
type checkView struct {
	Mark, Sentence string
	Lines          []string
	Command        string
}

func (p *Pages) readSeries(ctx context.Context, r *http.Request) (any, error) {
	in := seriesIn(r)
	all, err := client.Call(ctx, p.lab, api.Series, api.None{})
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(all, func(s jobs.LibrarySeries) bool { return s.Symbol == in.Symbol && s.Timeframe == in.Timeframe })
	if at < 0 {
		return nil, ktrdr.Errorf(ktrdr.CodeNotFound, "there are no %s bars of %s", in.Timeframe, in.Symbol)
	}
	s := &all[at]
	v := series{seriesRow: seriesOf(s, s.First, s.Last), Reason: s.MarketReason}
	checked, err := client.Call(ctx, p.lab, api.CheckSeries, in)
	if err != nil {
		return nil, err
	}
	v.Check = findingsOf(&checked)
	if s.HoldoutFrom.IsZero() && !checked.Until.IsZero() {
		v.Holdout += "; today it would be " + dayOf(checked.Until)
	}
	v.facts(s)
	open := jobs.Unaccepted(checked.Findings, checked.Accepted)
	if v.Prices, err = p.readPrices(ctx, in); err != nil {
		return nil, err
	}
	if may(ctx) {
		if s.MarketQuestion != "" {
			q := questionOf(s, all, v.Path)
			v.Question = &q
		}
		if len(open) > 0 {
			v.Accept = &action{
				Name: "Accept " + plural(len(open), "finding"), Path: v.Path + "/accept",
				Fields:  []field{{"findings", strings.Join(rulesOf(open), " ")}},
				Command: acceptCommand(s.Symbol, s.Timeframe, open),
				Ask: fmt.Sprintf("Let research begin on %s %s in spite of %s? Your token and the time are stored.",
					s.Symbol, s.Timeframe, plural(len(open), "severe finding")),
			}
		}
		v.Rename = "ktrdr data rename " + s.Symbol + " NEW"
		v.Delete = &action{
			Name: "Delete", Path: v.Path + "/delete", Command: "ktrdr data delete " + s.Symbol + " " + s.Timeframe,
			Ask: fmt.Sprintf("Delete %s %s with %s bars? Its market keeps all trials and looks.", s.Symbol, s.Timeframe, count(s.Bars)),
		}
	}
	return v, nil
}

func (v *series) facts(s *jobs.LibrarySeries) {
	say := func(name, value string) { v.Facts = append(v.Facts, fact{Name: name, Value: value}) }
	say("Bars", v.Bars)
	say("First bar", v.First)
	say("Last bar", v.Last)
	say("Size", v.Size)
	say("Origin", v.Origin)
	if v.Source != "" {
		say("Source", v.Source)
	}
	if !s.AddedAt.IsZero() {
		v.Facts = append(v.Facts, fact{Name: "Added", Value: stamp(s.AddedAt), At: s.AddedAt.UTC().Format(time.RFC3339)})
	}
	for _, x := range []struct{ name, value string }{
		{"Format", s.Record.Format},
		{"Times in the file", s.Record.Zone},
		{"Prices in the file", s.Record.Unit},
		{"Adjustment", s.Record.Adjustment},
	} {
		if x.value != "" {
			say(x.name, x.value)
		}
	}
	say("Hash", s.Hash.String()[:12])
	say("Market", v.Market)
	say("Trials on the market", v.Trials)
	say("Holdout looks", v.Looks)
	say("Holdout begins", v.Holdout)
	if len(s.Holdouts) > 1 {
		for _, h := range s.Holdouts {
			say("Holdout", h.String())
		}
	}
}

// findingsOf says what a check found. Gaps are told, but are not errors.
func findingsOf(c *jobs.SeriesCheck) checkView {
	v := checkView{Mark: "done", Command: "ktrdr data check " + c.Symbol + " " + c.Timeframe}
	until := ""
	if !c.Until.IsZero() {
		until = fmt.Sprintf(" The check ends where the holdout begins, %s.", dayOf(c.Until))
	}
	if !c.OK {
		v.Mark, v.Sentence = "failed", c.Error
		return v
	}
	v.Sentence = fmt.Sprintf("%s bars checked, no error.%s", count(c.Report.Rows), until)
	if open := len(jobs.Unaccepted(c.Findings, c.Accepted)); open > 0 {
		v.Mark, v.Sentence = "failed", fmt.Sprintf("No research begins on these bars: %s.%s", plural(open, "severe finding"), until)
	}
	v.Lines = append(contentLines(c.Findings, c.Accepted), reportLines(&c.Report)...)
	return v
}

// contentLines are the findings on the content of a series, with who accepts them.
func contentLines(found []quality.ContentFinding, accepted []ktrdr.AcceptedFinding) (lines []string) {
	for _, f := range found {
		line := f.String() + " → " + f.Do
		i := slices.IndexFunc(accepted, func(a ktrdr.AcceptedFinding) bool { return a.Finding == string(f.Rule) })
		if i >= 0 && f.Severity == quality.Severe {
			line = fmt.Sprintf("%s; accepted by %s, %s", f.String(), accepted[i].By, stamp(accepted[i].At))
		}
		lines = append(lines, line)
	}
	return lines
}

const gapsShown = 10

// reportLines are the findings of a report, in words.
func reportLines(r *market.DataReport) []string {
	var lines []string
	say := func(n int, what string) {
		if n > 0 {
			lines = append(lines, plural(n, "row")+" "+what)
		}
	}
	for _, f := range r.Findings {
		if f.Rule != market.Missing {
			lines = append(lines, f.String())
		}
	}
	if more := r.Wrong() - len(lines); more > 0 {
		lines = append(lines, fmt.Sprintf("and %s more", count(more)))
	}
	say(r.Dropped, "left out")
	say(r.Widened, "with high or low moved to hold open and close")
	say(r.Cleared, "with a negative volume set to 0")
	if r.Sorted {
		lines = append(lines, "rows sorted by time")
	}
	if n := r.Counts[market.Missing]; n > 0 {
		lines = append(lines, plural(n, "gap")+" while the market trades. Gaps are reported; they are not errors.")
		for _, g := range r.Holes[:min(len(r.Holes), gapsShown)] {
			lines = append(lines, fmt.Sprintf("%s missing after %s", plural(g.Bars, "bar"), stamp(time.Unix(g.After, 0))))
		}
		if n > gapsShown {
			lines = append(lines, fmt.Sprintf("and %s more gaps", count(n-gapsShown)))
		}
	}
	return lines
}
