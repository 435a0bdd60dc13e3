// Package local works on the lab of a data folder itself, with or without a
// backend: it imports, checks and describes series, and finds strategies.
package local
