// Package ktrdr is the domain of an overnight trading-strategy research lab:
// what an operation is, how it lives, who may change it, and what a store must
// promise. It imports only the standard library and knows no database, no
// network and no clock.
//
// Read in this order:
//
//	operation.go   the one noun everything else is about
//	step.go        Step, the specification of every transition
//	protocol.go    what a worker and a backend say to each other
//	checkpoint.go  what an operation leaves behind to be resumed from
//	plan.go        how a parent decides what comes next
//	store.go       the contract a store must keep
//	error.go       what can go wrong, for people and for programs
package ktrdr
