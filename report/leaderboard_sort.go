package report

import (
	"cmp"
	"slices"

	"github.com/ktrdr/ktrdr/evidence"
)

// LeaderSort is an order of a leaderboard.
type LeaderSort string

// SortHoldout orders by the Sharpe ratio of looks.
const SortHoldout LeaderSort = "holdout"

// Sorts are the orders of a leaderboard. All but the first order the best of each
// market by a figure or a text; a row without it comes last.
var Sorts = []LeaderSort{
	"rank", "sharpe", "alpha", "return", "drawdown", "trades", "newest", "strategy", "symbol", "z", "luck", SortHoldout, "deflated", "hold",
	"cost", "checks", "reason",
}

// order is how a leaderboard is sorted: by a figure or by a text.
type order struct {
	figure  func(*Leader) *float64
	text    func(*Leader) string
	low     bool // the lowest figure is the best
	details bool // it needs the details of all rows
}

var orders = map[LeaderSort]order{
	"sharpe":   {figure: func(l *Leader) *float64 { return l.Sharpe }},
	"alpha":    {figure: func(l *Leader) *float64 { return l.Alpha }},
	"return":   {figure: func(l *Leader) *float64 { return l.NetReturn }},
	"drawdown": {figure: func(l *Leader) *float64 { return l.MaxDrawdown }, low: true},
	"trades":   {figure: func(l *Leader) *float64 { return new(float64(l.Trades)) }},
	"newest":   {figure: func(l *Leader) *float64 { return new(float64(l.CreatedAt.UnixMilli())) }},
	"strategy": {text: func(l *Leader) string { return l.Strategy }},
	"symbol":   {text: func(l *Leader) string { return l.Symbols + " " + l.Timeframes }},
	"z":        {figure: func(l *Leader) *float64 { return evidence.WeakerZ(l.SharpeZ, l.AlphaZ) }},
	"luck":     {figure: (*Leader).Luck, low: true},
	"deflated": {figure: func(l *Leader) *float64 { return l.Deflated }},
	SortHoldout: {figure: func(l *Leader) *float64 {
		if l.Holdout == nil {
			return nil
		}
		return l.Holdout.Sharpe
	}},
	"hold":   {figure: func(l *Leader) *float64 { return l.Details.BuyAndHold }, details: true},
	"cost":   {figure: func(l *Leader) *float64 { return l.Details.CostPerSide }, low: true, details: true},
	"checks": {figure: (*Leader).passed, details: true},
	"reason": {text: (*Leader).reason, details: true},
}

// Ascending is whether an order begins with the lowest figure or the first text.
func Ascending(sort LeaderSort, reverse bool) bool {
	by := orders[sort]
	return (by.low || by.text != nil) != reverse
}

// Luck is the Sharpe ratio that the best of the trials on its market shows by
// luck; nil where the standard error was not estimated.
func (l *Leader) Luck() *float64 {
	if l.StandardError == nil {
		return nil
	}
	return new(evidence.BestByLuck(l.MarketTrials) * *l.StandardError)
}

func (l *Leader) passed() *float64 {
	if l.Details.Checks == 0 {
		return nil
	}
	return new(float64(l.Details.Passed))
}

func (l *Leader) reason() string {
	if l.Details.Failed == nil {
		return ""
	}
	return string(l.Details.Failed.Code)
}

// sortLeaders orders rows, then by rank. Rows without the figure or the text come
// last, also in reverse.
func sortLeaders(rows []Leader, sort LeaderSort, reverse bool) {
	by, known := orders[sort]
	if !known {
		if reverse {
			slices.Reverse(rows)
		}
		return
	}
	sign := -1
	if Ascending(sort, reverse) {
		sign = 1
	}
	slices.SortStableFunc(rows, func(a, b Leader) int {
		if by.text != nil {
			x, y := by.text(&a), by.text(&b)
			return cmp.Or(present(x != "", y != ""), sign*cmp.Compare(x, y))
		}
		x, y := by.figure(&a), by.figure(&b)
		if order := present(x != nil, y != nil); order != 0 || x == nil {
			return order
		}
		return sign * cmp.Compare(*x, *y)
	})
}

// present puts a row that has something before a row that has not.
func present(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}
