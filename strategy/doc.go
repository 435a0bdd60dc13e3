// Package strategy reads what a researcher or a designer writes: a strategy in
// YAML, version 3 of the grammar, into plain Go in which every name is
// resolved and every default spelled out.
//
// The grammar is written down once (grammar.go and its neighbours): reading,
// writing, the canonical form that is hashed and the JSON Schema all come from
// it. It is strict. A key it does not know is refused with the nearest one it
// does; a value that nothing would use is refused or warned of, never dropped.
package strategy
