// Package view prints what the lab holds for people: operations, events, runs,
// researches, and results with their figures.
package view
