package mcp

import (
	"fmt"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/internal/text"
)

// An answer is text of the program, in which every text that comes from files, users
// and models is marked as data.
type answer struct {
	strings.Builder
	links   []*sdk.ResourceLink
	handles []string
}

func (a *answer) line(format string, args ...any) {
	fmt.Fprintf(a, format, args...)
	a.WriteByte('\n')
}

// table writes rows of cells under a head.
func (a *answer) table(head string, rows [][]string) {
	a.line("%s", head)
	for _, cells := range rows {
		a.line("%s", strings.Join(cells, " | "))
	}
}

// handle names something to wait for.
func (a *answer) handle(id string) {
	a.handles = append(a.handles, id)
	a.line("handle: %s", id)
}

func (a *answer) link(uri, name, mime string) {
	a.links = append(a.links, &sdk.ResourceLink{URI: uri, Name: name, MIMEType: mime})
}

// handles is the structured part of an answer that names some.
type handles struct {
	Handles []string `json:"handles"`
}

func (a *answer) result() *sdk.CallToolResult {
	r := &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: strings.TrimSuffix(a.String(), "\n")}}}
	for _, l := range a.links {
		r.Content = append(r.Content, l)
	}
	if len(a.handles) > 0 {
		r.StructuredContent = handles{a.handles}
	}
	return r
}

// Limits of texts in an answer, in bytes.
const (
	shortText = 200
	longText  = 2000
)

var marks = strings.NewReplacer("<", "‹", ">", "›")

// data marks a text that is not the program's own, on one line.
func data(s string) string { return mark(ktrdr.ToPrintable(s), shortText) }

// longData is data for a text that is the point of the answer.
func longData(s string) string { return mark(ktrdr.ToPrintable(s), longText) }

func mark(s string, most int) string {
	if s == "" {
		return "–"
	}
	return "<data>" + marks.Replace(text.Cut(s, most)) + "</data>"
}

// listed is data for a few texts.
func listed(all []string) string {
	const most = 20
	if len(all) > most {
		all = append(all[:most:most], fmt.Sprintf("and %d more", len(all)-most))
	}
	return longData(strings.Join(all, ", "))
}

const missing = "–"

func number(v *float64) string {
	if v == nil {
		return missing
	}
	return fmt.Sprintf("%.3g", *v)
}

func percent(v *float64) string {
	if v == nil {
		return missing
	}
	return fmt.Sprintf("%.1f%%", *v*100)
}

func at(t time.Time) string {
	if t.IsZero() {
		return missing
	}
	return t.UTC().Format("2006-01-02 15:04") + " UTC"
}

// prices says whether prices were made up.
func prices(madeUp *bool) string {
	switch {
	case madeUp == nil:
		return "not known"
	case *madeUp:
		return "made up"
	}
	return "real"
}
