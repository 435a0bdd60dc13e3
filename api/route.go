// Package api declares the HTTP API: every route with its method, path, request
// and answer. Package httpapi serves the routes and package client calls them.
// Both take them from here, so that they cannot disagree.
//
// A route is one variable:
//
//	Cancel = del[CancelRequest, CancelReply]("/operations/{id}", "Cancel an operation and everything below it")
//
// The fields of its request travel by their tags: `path`, `query` and `header`
// name a parameter, all other fields are the JSON of the body.
package api

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/ktrdr/ktrdr"
)

// Base is the path that every route begins with, but /metrics.
const Base = "/api/v1"

// Spec is all that the guard, the decoder, the OpenAPI document and the client
// need to know of a route. The zero value is the strictest: admin only, no body.
type Spec struct {
	Method, Path string
	Summary      string

	Public bool          // needs no token
	Scopes []ktrdr.Scope // may call it besides admin

	Limit   int64  // of the body in bytes; 0 means no body
	Accepts string // the body's content type; empty means application/json

	Status   int           // of a success; 0 means 200
	Produces string        // the answer's content type; empty means the envelope
	Bare     bool          // JSON, but without the envelope
	Reads    bool          // changes nothing although its method could
	Stream   bool          // the answer does not end
	Creates  bool          // takes an Idempotency-Key
	Wait     time.Duration // how long the work may take; 0 means DefaultWait
}

// Route is a route whose request is an In and whose answer is an Out.
type Route[In, Out any] struct{ Spec }

// None is the request of routes without one, and the answer of routes that have
// nothing to say.
type None struct{}

// Raw is the answer of routes that send no JSON.
type Raw struct{}

// The limits of routes.
const (
	BodyLimit   = 1 << 20
	threadLimit = 32 << 20
	stateLimit  = ktrdr.MaxState + BodyLimit // a checkpoint's state and what goes with it
	blobLimit   = 2 << 30

	DefaultWait = time.Minute
	MaxPoll     = 30 * time.Second // the longest a claim is held open
	bytesPerSec = 256 << 10        // the slowest transfer that is waited for
)

// TransferTime is how long n bytes may take.
func TransferTime(n int64) time.Duration { return time.Duration(n/bytesPerSec) * time.Second }

var table []*Spec

// Table returns every route there is.
func Table() []*Spec { return slices.Clone(table) }

func declare[In, Out any](sp Spec, options []option) Route[In, Out] {
	sp.Path = Base + sp.Path
	for _, o := range options {
		o(&sp)
	}
	table = append(table, &sp)
	return Route[In, Out]{sp}
}

// get is a route for every token that may read.
func get[In, Out any](path, summary string, options ...option) Route[In, Out] {
	return declare[In, Out](Spec{Method: http.MethodGet, Path: path, Summary: summary, Scopes: readers}, options)
}

// post and del are routes for admins.
func post[In, Out any](path, summary string, options ...option) Route[In, Out] {
	return declare[In, Out](Spec{Method: http.MethodPost, Path: path, Summary: summary, Limit: BodyLimit}, options)
}

func del[In, Out any](path, summary string, options ...option) Route[In, Out] {
	return declare[In, Out](Spec{Method: http.MethodDelete, Path: path, Summary: summary}, options)
}

var readers = []ktrdr.Scope{ktrdr.ScopeRead}

type option func(*Spec)

// workers lets tokens of workers call the route too.
func workers(sp *Spec) { sp.Scopes = slices.Concat(sp.Scopes, []ktrdr.Scope{ktrdr.ScopeWorker}) }

// onlyWorkers are for tokens of workers and admins.
func onlyWorkers(sp *Spec) { sp.Scopes = []ktrdr.Scope{ktrdr.ScopeWorker} }

// asks marks a POST that only reads: its question is too large for a URL.
func asks(sp *Spec) { sp.Reads, sp.Scopes = true, readers }

// creates marks a route that creates an operation: its caller may send an
// Idempotency-Key.
func creates(sp *Spec) { sp.Creates, sp.Status = true, http.StatusAccepted }

func stream(sp *Spec) { sp.Stream, sp.Produces = true, ContentEvents }

func body(limit int64) option        { return func(sp *Spec) { sp.Limit = limit } }
func answers(status int) option      { return func(sp *Spec) { sp.Status = status } }
func waits(d time.Duration) option   { return func(sp *Spec) { sp.Wait = d } }
func produces(content string) option { return func(sp *Spec) { sp.Produces = content } }

// Changes says whether a call of the route may change something.
func (sp *Spec) Changes() bool {
	return sp.Method != http.MethodGet && sp.Method != http.MethodHead && !sp.Reads
}

// Admits says whether a token of this scope may call the route.
func (sp *Spec) Admits(have ktrdr.Scope) bool {
	return have == ktrdr.ScopeAdmin || have == ktrdr.ScopeAssistant && sp.AdmitsAssistants() || slices.Contains(sp.Scopes, have)
}

// Pattern is the route in http.ServeMux's words.
func (sp *Spec) Pattern() string { return sp.Method + " " + sp.Path }

// Key names the route in metrics and logs.
func (sp *Spec) Key() string { return strings.TrimPrefix(sp.Path, Base) }
