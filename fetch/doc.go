// Package fetch reads prices from public sources on the internet: politely, within
// bounds, and never from an address inside the network of the lab.
//
//	Request ──Pieces──▶ pieces ──Client──▶ bytes ──Source──▶ bars of a piece
//
// A source cuts a request into pieces. Each piece is fetched and judged by itself, so
// that a fetch which was stopped fetches no piece twice. The bars of a piece depend on
// the answer of the source alone.
package fetch
