// Package label says what a network should have answered at each bar. Labels
// look into the future, which is their purpose; each says how far, so that no
// training sample's label reaches into the bars it will be judged on.
//
// What a label is scaled by (volatility, thresholds) is taken from the bars up
// to it and never from the whole series: a later bar changes no earlier label
// but through the span the label admits to.
package label
