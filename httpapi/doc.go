// Package httpapi is the HTTP server, with the OpenAPI document that it serves.
//
// The routes are declared in package api. Every route is a row of one table
// (table.go). The table registers the routes, describes them in OpenAPI, tells
// the guard who may call them, and is enumerated by the security test, so that a
// route cannot exist without being guarded, described and tested.
//
// A request passes, in this order:
//
//	headers that keep browsers out      guard.go
//	Host, Origin, token, scope          guard.go, token.go
//	path, query, header parameters      query.go
//	content type, size, JSON            body.go, strict.go
//	the handler                         table.go, operations.go, workers.go, …
//	the envelope, or the refusal        answer.go
package httpapi
