// Package httpapi is the product's HTTP face: the server, the OpenAPI document
// it serves, and the client that workers and the command line use.
//
// Every route is a row of one table (see route.go). The table registers the
// routes, describes them in OpenAPI, tells the guard who may call them, and is
// enumerated by the security test, so that a route cannot exist without being
// guarded, described and tested.
//
// A request passes, in this order:
//
//	headers that keep browsers out      guard.go
//	Host, Origin, token, scope          guard.go, token.go
//	query, content type, size, JSON     query.go, body.go, strict.go
//	the handler                         operations.go, workers.go, …
//	the envelope, or the refusal        answer.go
package httpapi
