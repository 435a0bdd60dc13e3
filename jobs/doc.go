// Package jobs makes durable operations of what the compute packages do:
//
//	request ──Desk──▶ spec ──engine──▶ worker ──Runner──▶ result, artifacts
//
//	training     strategy, bars, seed ──▶ model.safetensors and its figures
//	backtesting  model, bars, costs   ──▶ backtest.ktbt and its figures
//	data_load    price file           ──▶ a series of the library
//
// The Desk is the backend's side. It turns what somebody asks for ("train
// rsi_mean_reversion on EURUSD") into a spec that says everything: the strategy
// as text, the seed, the class of arithmetic, and every input by the hash of its
// bytes, which it puts into the blob store first. A spec is therefore all that a
// worker needs, on any machine and at any later time, and its result is a
// function of it: whatever is imported, edited or deleted meanwhile changes
// nothing.
//
// A Runner is the worker's side. It may be stopped between any two batches or
// chunks of bars and goes on elsewhere, from its checkpoint, to the same bits;
// result_hash says so in one line.
package jobs
