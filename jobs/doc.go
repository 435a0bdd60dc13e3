// Package jobs is what is said of trainings, backtests and imports: requests,
// specs and results, with their JSON. It computes nothing.
//
//	request ──▶ spec ──▶ result
//
//	training     strategy, bars, seed ──▶ model.safetensors and its metrics
//	backtesting  model, bars, costs   ──▶ backtest.ktbt and its metrics
//	data_load    price file           ──▶ a series of the library
//
// A spec says everything: the strategy as text, the seed, the class of
// arithmetic, and every input by the hash of its bytes. So it is all that a worker
// needs, on any machine and at any later time. The result is a function of the
// spec: nothing that is imported, edited or deleted later changes it.
//
// Package compute makes specs of requests and runs them.
package jobs
