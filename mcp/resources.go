package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ktrdr/ktrdr"
	"github.com/ktrdr/ktrdr/api"
	"github.com/ktrdr/ktrdr/docs"
	"github.com/ktrdr/ktrdr/page"
	"github.com/ktrdr/ktrdr/research"
)

// What resources are.
const (
	mimeHTML = "text/html"
	mimeSVG  = "image/svg+xml"
	mimeYAML = "application/yaml"
	mimeText = "text/markdown"

	reportFile   = "report.html"
	curveFile    = "curve.svg"
	strategyFile = "strategy.yaml"

	operations = "ktrdr://operations/"
	runs       = "ktrdr://runs/"
)

func operationURI(id ktrdr.OperationID, file string) string {
	return operations + string(id) + "/" + file
}
func runURI(id string) string { return runs + id + "/" + reportFile }

// addResources adds what a link of an answer leads to, and the guide.
func (s *Server) addResources(p *sdk.Server) {
	grammar, _ := docs.Page("strategies")
	for uri, text := range map[string]string{"ktrdr://skill": Skill, "ktrdr://grammar": grammar} {
		name := strings.TrimPrefix(uri, "ktrdr://")
		p.AddResource(&sdk.Resource{URI: uri, Name: name, MIMEType: mimeText},
			func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				return contents(uri, mimeText, text), nil
			})
	}
	for file, mime := range map[string]string{reportFile: mimeHTML, curveFile: mimeSVG, strategyFile: mimeYAML} {
		p.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: operations + "{id}/" + file, Name: "operation " + file, MIMEType: mime},
			func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
				id, _, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, operations), "/")
				text, err := s.file(ctx, ktrdr.OperationID(id), file)
				return contents(r.Params.URI, mime, text), err
			})
	}
	p.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: runs + "{id}/" + reportFile, Name: "run " + reportFile, MIMEType: mimeHTML},
		func(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			id, _, _ := strings.Cut(strings.TrimPrefix(r.Params.URI, runs), "/")
			text, err := s.runReport(ctx, id)
			return contents(r.Params.URI, mimeHTML, text), err
		})
}

func contents(uri, mime, text string) *sdk.ReadResourceResult {
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: uri, MIMEType: mime, Text: text}}}
}

func (s *Server) file(ctx context.Context, id ktrdr.OperationID, file string) (string, error) {
	switch file {
	case reportFile:
		return patient(ctx, s, func() (string, error) {
			var html bytes.Buffer
			err := page.WriteStrategy(ctx, s.pages(), &html, string(id))
			return html.String(), err
		})
	case curveFile:
		return s.curve(ctx, id)
	}
	return s.strategy(ctx, id)
}

// pages is what writes a report: as the same client, which shows no holdout.
func (s *Server) pages() page.Config { return page.Config{Lab: s.Lab, Version: s.Version} }

func (s *Server) runReport(ctx context.Context, id string) (string, error) {
	return patient(ctx, s, func() (string, error) {
		var html bytes.Buffer
		err := page.WriteReport(ctx, s.pages(), &html, api.ReportRequest{Run: id})
		return html.String(), err
	})
}

// strategy is the text of the strategy of a research.
func (s *Server) strategy(ctx context.Context, id ktrdr.OperationID) (string, error) {
	op, err := ask(ctx, s, api.GetOperation, api.ByID{ID: id})
	if err != nil {
		return "", err
	}
	var state research.PlanState
	if len(op.State) > 0 && json.Unmarshal(op.State, &state) == nil && state.Strategy != "" {
		return state.Strategy, nil
	}
	e, err := ask(ctx, s, api.Experiment, api.ByID{ID: id}) // of a compacted research
	if err != nil {
		return "", err
	}
	var note research.Experiment
	if err := json.Unmarshal(e.Note, &note); err != nil {
		return "", fmt.Errorf("note of %s: %w", id, err)
	}
	if note.Strategy == "" {
		return "", ktrdr.Errorf(ktrdr.CodeNotFound, "%s has no strategy yet", id)
	}
	return note.Strategy, nil
}
