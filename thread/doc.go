// Package thread is the contract between ktrdr and programs that keep the
// checkpoints of their LangGraph threads here: the types of the API, the Saver
// interface, and the rules that every Saver keeps.
//
//	thread ── namespace ── checkpoint ──parent──▶ checkpoint ──▶ …
//	                           ├── slots: channel ─▶ version and value
//	                           └── pending writes: (task, index) ─▶ channel and value
//
// The rules do no I/O. They say what a put means (ParsePut), which values a checkpoint holds
// (Slots), what a filter matches (Filter), how the history of a channel is read (HistoryWalk) and
// whether a lease permits a write (CheckLease). Package savertest holds every Saver to them.
package thread
