// Package saver holds the rules that every ktrdr.Saver keeps alike, whatever
// it stores in: what a put means, which values a checkpoint holds, what a
// filter matches and how a channel's history is walked. It does no I/O.
package saver
