// Package top is the live view of a lab on a terminal: runs, researches, workers,
// circuit breakers and the log.
//
//	client ──▶ reader ──▶ loaded ──▶ Update ──▶ View ──▶ terminal
//	                                     ▲
//	keys, the size of the terminal, events ┘
//
// model is a value without a connection: a message makes the next one, and a
// function makes the screen of it.
package top
