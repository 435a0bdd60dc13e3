// Package report tells what happened, by aggregates of the store: the report of a
// span of time or of a run, and the leaderboard. The number of questions to the
// store does not depend on how much happened.
package report
