// Package text makes words for people: shortened texts, lists, counted nouns,
// and the name that a misspelt word stands for.
package text
