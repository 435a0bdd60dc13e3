package page

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/jobs"
	"github.com/ktrdr/ktrdr/market"
)

// importView is the form of an import, and what a dry run of it found.
type importView struct {
	Timeframes []option
	Dates      []option
	Decimals   []option
	Modes      []option
	Values     map[string]string
	Key        string // of the form that checks a file
	Dry        *dryRun
}

// dryRun is what an import would do.
type dryRun struct {
	Operation, Mark, Headline string
	Running                   bool
	Facts                     []fact
	Lines                     []string
	Refused, Question         string
	Fields                    []field // of the import that follows
	Ready                     bool
	Command                   string
}

var importModes = []option{
	{Value: "", Name: "Refuse the file"},
	{Value: string(jobs.ImportAppend), Name: "Add the new bars"},
	{Value: string(jobs.ImportReplace), Name: "Replace the series"},
}

var dateOrders = []option{
	{Value: "", Name: "What the dates show"},
	{Value: string(market.DayFirst), Name: "Day first (31/12/2024)"},
	{Value: string(market.MonthFirst), Name: "Month first (12/31/2024)"},
}

var decimalMarks = []option{
	{Value: "", Name: "What the numbers show"},
	{Value: "point", Name: "Point (1,234.5)"},
	{Value: "comma", Name: "Comma (1.234,5)"},
}

// chosen marks the option of a value.
func chosen(all []option, value string) []option {
	list := slices.Clone(all)
	for i := range list {
		list[i].Chosen = list[i].Value == value
	}
	return list
}

// upload keeps the file of a form and starts a dry run of its import. The fields
// come before the file.
func (p *Pages) upload(ctx context.Context, r *http.Request) (string, error) {
	if !may(ctx) {
		return "", ktrdr.Errorf(ktrdr.CodeForbidden, "your token may read; an import needs an admin token")
	}
	parts, err := r.MultipartReader()
	if err != nil {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "choose a file to import")
	}
	form := url.Values{}
	for {
		part, err := parts.NextPart()
		if errors.Is(err, io.EOF) {
			return "", ktrdr.Errorf(ktrdr.CodeInvalid, "choose a file to import")
		}
		if err != nil {
			return "", uploadError(err)
		}
		if part.FormName() == "file" {
			if part.FileName() == "" {
				return "", ktrdr.Errorf(ktrdr.CodeInvalid, "choose a file to import")
			}
			hash, err := p.keepFile(ctx, part)
			if err != nil {
				return "", err
			}
			form.Set("sha256", hash.String())
			form.Set("name", part.FileName())
			break
		}
		text, err := io.ReadAll(io.LimitReader(part, mostField))
		if err != nil {
			return "", uploadError(err)
		}
		form.Set(part.FormName(), string(text))
	}
	return p.load(ctx, form, true)
}

const mostField = 4096

func uploadError(err error) error {
	if big, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return ktrdr.Errorf(ktrdr.CodeTooLarge, "the file is over the limit of %s: split it", size(big.Limit))
	}
	return ktrdr.Errorf(ktrdr.CodeInvalid, "the upload did not arrive completely: %w", err)
}

// keepFile puts a file into the blob store. Its hash is its name there, so it is
// written to a file without a name first.
func (p *Pages) keepFile(ctx context.Context, part *multipart.Part) (h ktrdr.Hash, err error) {
	f, err := os.CreateTemp("", "ktrdr-upload-")
	if err != nil {
		return h, fmt.Errorf("place for the upload: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := os.Remove(f.Name()); err != nil {
		return h, fmt.Errorf("place for the upload: %w", err)
	}
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(f, sum), part)
	if err != nil {
		return h, uploadError(err)
	}
	if n == 0 {
		return h, ktrdr.Errorf(ktrdr.CodeInvalid, "the file is empty")
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return h, err
	}
	h = ktrdr.Hash(sum.Sum(nil))
	return h, p.lab.PutBlob(ctx, ktrdr.Claimed{}, h, n, f)
}

// startImport imports what a dry run has read.
func (p *Pages) startImport(ctx context.Context, r *http.Request) (string, error) {
	if err := r.ParseForm(); err != nil {
		return "", ktrdr.Errorf(ktrdr.CodeInvalid, "the form cannot be read: %w", err)
	}
	return p.load(ctx, r.PostForm, r.PostForm.Get("check") != "")
}

// load starts an import and leads to the page that follows it.
func (p *Pages) load(ctx context.Context, form url.Values, dry bool) (string, error) {
	in := jobs.DataLoadRequest{
		SHA256: form.Get("sha256"), Name: form.Get("name"), Symbol: strings.TrimSpace(form.Get("symbol")), Timeframe: form.Get("timeframe"),
		Zone: strings.TrimSpace(form.Get("zone")), Dates: form.Get("dates"), Decimal: form.Get("decimal"), Adjusted: form.Get("adjusted") != "",
		Normalise: form.Get("normalise") != "", Mode: form.Get("mode"),
		SameMarketAs: strings.TrimSpace(form.Get("same_market_as")), NewMarket: form.Get("new_market") != "", DryRun: dry,
	}
	if text := strings.TrimSpace(form.Get("divide")); text != "" {
		divide, err := strconv.ParseFloat(text, 64)
		if err != nil || !(divide > 0) {
			return "", ktrdr.Errorf(ktrdr.CodeInvalid, "divide must be a positive number, such as 100000")
		}
		in.Divide = divide
	}
	made, err := p.lab.StartDataLoad(ctx, in, sentOnce(form.Get("key"), in))
	if err != nil {
		return "", err
	}
	return "/data/import?op=" + url.QueryEscape(string(made.Operation)), nil
}

// readImport shows the form, or the result of the import that the query names.
func (p *Pages) readImport(ctx context.Context, r *http.Request) (any, error) {
	if !may(ctx) {
		return nil, ktrdr.Errorf(ktrdr.CodeForbidden, "your token may read; an import needs an admin token")
	}
	v := importView{Values: map[string]string{}, Key: rand.Text()}
	if id := r.URL.Query().Get("op"); id != "" {
		op, err := p.lab.Operation(ctx, ktrdr.OperationID(id))
		if err != nil {
			return nil, err
		}
		if op.Type != ktrdr.DataLoad {
			return nil, ktrdr.Errorf(ktrdr.CodeInvalid, "%s is not an import", id)
		}
		if v.Dry, err = readDryRun(&op, v.Values); err != nil {
			return nil, err
		}
	}
	v.Timeframes = []option{{Name: "From the file", Chosen: v.Values["timeframe"] == ""}}
	for _, tf := range market.Timeframes {
		v.Timeframes = append(v.Timeframes, option{Value: string(tf), Name: string(tf), Chosen: v.Values["timeframe"] == string(tf)})
	}
	v.Dates, v.Decimals = chosen(dateOrders, v.Values["dates"]), chosen(decimalMarks, v.Values["decimal"])
	v.Modes = chosen(importModes, v.Values["mode"])
	return v, nil
}

// readDryRun describes an import, and fills the form with what was asked.
func readDryRun(op *ktrdr.Operation, values map[string]string) (*dryRun, error) {
	var spec jobs.LoadSpec
	if err := json.Unmarshal(op.Spec, &spec); err != nil {
		return nil, fmt.Errorf("spec of %s: %w", op.ID, err)
	}
	d := &dryRun{Operation: string(op.ID), Command: importCommand(&spec)}
	d.Fields = fieldsOf(&spec)
	for _, f := range d.Fields {
		values[f.Name] = f.Value
	}
	what := "Import"
	if spec.DryRun {
		what = "Check"
	}
	switch {
	case !op.Status.Terminal():
		d.Running, d.Mark = true, "run"
		d.Headline = what + " of " + spec.Source.Name + " is running."
		return d, nil
	case op.Status != ktrdr.Completed:
		d.Mark, d.Headline, d.Refused = "failed", spec.Source.Name+" cannot be imported.", op.ErrorMessage
		return d, nil
	}
	var got jobs.LoadResult
	if err := json.Unmarshal(op.Result, &got); err != nil {
		return nil, fmt.Errorf("result of %s: %w", op.ID, err)
	}
	d.told(&got)
	return d, nil
}

func (d *dryRun) told(got *jobs.LoadResult) {
	e := &got.Entry
	d.Facts = []fact{
		{Name: "Symbol", Value: e.Symbol},
		{Name: "Timeframe", Value: string(e.Timeframe)},
		{Name: "Rows read", Value: count(got.Report.Rows)},
		{Name: "Bars", Value: count(e.Bars)},
		{Name: "First bar", Value: unixStamp(e.First)},
		{Name: "Last bar", Value: unixStamp(e.Last)},
	}
	if r := got.Report.Recognised; r != nil {
		d.Facts = append(d.Facts, fact{Name: "Read as", Value: r.String()})
	}
	if was := got.Replaced; was != nil {
		d.Facts = append(d.Facts, fact{Name: "Exists already", Value: fmt.Sprintf("%s bars until %s", count(was.Bars), unixStamp(was.Last))})
	}
	if m := got.Merged; m != nil {
		d.Facts = append(d.Facts, fact{Name: "Compared", Value: mergedText(m)})
	}
	if got.Market != "" {
		d.Facts = append(d.Facts, fact{Name: "Market", Value: got.Market + ": " + got.Reason})
	}
	doubts := contentLines(e.Findings, e.Accepted)
	d.Lines, d.Refused, d.Question = append(doubts, reportLines(&got.Report)...), got.Refused, got.Question
	switch {
	case !got.DryRun:
		d.Mark, d.Headline, d.Lines = "done", fmt.Sprintf("%s bars of %s %s imported.", count(e.Bars), e.Symbol, e.Timeframe), doubts
	case got.Refused != "":
		d.Mark, d.Headline = "failed", "An import would be refused. Nothing is stored."
	default:
		d.Mark, d.Ready = "done", true
		d.Headline = fmt.Sprintf("Recognised: %s bars of %s %s. Nothing is stored yet.", count(e.Bars), e.Symbol, e.Timeframe)
	}
}

// mergedText says how many bars an append adds and changes.
func mergedText(m *market.Merged) string {
	bars := "bars"
	if m.Added == 1 {
		bars = "bar"
	}
	said := fmt.Sprintf("%s new %s", count(m.Added), bars)
	if m.AddedInHoldout > 0 {
		said += fmt.Sprintf(" (%s after the holdout begins)", count(m.AddedInHoldout))
	}
	said += fmt.Sprintf(", %s change", count(m.Changed))
	if m.InHoldout > 0 {
		said += fmt.Sprintf(", %s of them in the holdout", count(m.InHoldout))
	}
	return said
}

// fieldsOf are the fields of a form that asks for the same import.
func fieldsOf(s *jobs.LoadSpec) []field {
	fields := []field{
		{"sha256", s.Source.SHA256.String()},
		{"name", s.Source.Name},
		{"symbol", s.Symbol},
		{"timeframe", string(s.Timeframe)},
		{"zone", s.Zone},
		{"dates", string(s.Dates)},
		{"decimal", s.Decimal},
		{"mode", string(s.Mode)},
		{"same_market_as", s.SameMarketAs},
	}
	if s.Divide > 0 {
		fields = append(fields, field{"divide", strconv.FormatFloat(s.Divide, 'f', -1, 64)})
	}
	if s.Adjusted {
		fields = append(fields, field{"adjusted", "1"})
	}
	if s.Normalise {
		fields = append(fields, field{"normalise", "1"})
	}
	if s.NewMarket {
		fields = append(fields, field{"new_market", "1"})
	}
	return fields
}

// importCommand is what does the same on the command line.
func importCommand(s *jobs.LoadSpec) string {
	file := s.Source.Name
	if strings.HasPrefix(file, "-") {
		file = "./" + file
	}
	text := "ktrdr data import " + shellWord(file, false) + " --symbol " + shellWord(s.Symbol, false)
	add := func(given bool, flag string) {
		if given {
			text += " --" + flag
		}
	}
	add(s.Timeframe != "", "timeframe "+string(s.Timeframe))
	add(s.Zone != "" && s.Zone != "UTC", "zone "+shellWord(s.Zone, false))
	add(s.Dates != "", "dates "+string(s.Dates))
	add(s.Decimal != "", "decimal "+s.Decimal)
	add(s.Adjusted, "adjusted")
	add(s.Divide > 0, "divide "+strconv.FormatFloat(s.Divide, 'f', -1, 64))
	add(s.Normalise, "normalise")
	add(s.Mode != "", string(s.Mode))
	add(s.SameMarketAs != "", "same-market-as "+shellWord(s.SameMarketAs, false))
	add(s.NewMarket, "new-market")
	return text
}
