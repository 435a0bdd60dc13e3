// Package market holds prices: bars in columns, how they are read, checked,
// stored, resampled and aligned, and a synthetic market to try things on.
package market
