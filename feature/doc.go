// Package feature turns bars into what a network sees: a row for each bar of
// the base timeframe, a column for each input of the strategy. A row uses
// nothing that was not known when its bar closed; a value that does not exist
// yet is NaN and never a number that looks like one.
package feature
