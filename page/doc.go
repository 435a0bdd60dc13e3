// Package page is what a person looks at: the pages that the backend serves at
// "/" and the report that can be sent as one file.
//
// A view is read from the product in one go, formatted here, and rendered by a
// template. Every URL renders completely without a script. The script swaps in
// fragments of the same templates when something changed.
//
//	research, report, engine ──> view (Go values) ──> template ──> HTML
//	                                                     └─> fragment, by /live
//
// A view never holds what a holdout that was not opened contains: the product
// does not give it out.
package page
