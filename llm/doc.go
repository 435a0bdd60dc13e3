// Package llm asks language models, and pays for it.
//
//	agent ──Call──▶ ModelFallbackChain ──Complete──▶ Provider ──HTTP──▶ a server
//	                  │      │     │
//	                journal  │   breakers, retries (package resilience)
//	                       prices
//
// A Provider speaks one wire format and nothing more: it asks once, bounds all
// it reads, and says in a *resilience.Error what went wrong. The chain decides
// who is asked, how often and with whose money; a call is paid for in the
// journal before it is made, and its answer is there before it is used.
//
// What a model says is data. Nothing of it is executed, opened or fetched.
package llm
