// Package library is what the lab keeps: series of bars, the markets that they
// belong to, strategies and the file of instruments. The rows are in the store,
// the bars in the blob store, so that every backend has the same.
package library
