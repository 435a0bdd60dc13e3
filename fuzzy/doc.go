// Package fuzzy turns an indicator's value into degrees of membership between
// 0 and 1: how much "the RSI is low" is true. The degrees are what a network
// sees; there are no rules and nothing is defuzzified.
package fuzzy
