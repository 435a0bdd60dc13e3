// Package sqlstore is ktrdr.Store over database/sql: SQLite, embedded, for one
// machine, and PostgreSQL past one. There is one SQL text for both.
//
// A write goes through Store.write and is durable when it returns:
//
//	SQLite      callers ─┬─ urgent ─┬─▶ BEGIN ─▶ body, body … ─▶ COMMIT
//	                     └─ normal ─┘   one of them for all who wait
//
//	PostgreSQL  caller ───▶ BEGIN, id ─▶ body ─▶ COMMIT
//	                        one transaction each; urgent ones have their own connections
//
// A COMMIT that fails may have committed. Neither database is asked to guess:
// SQLite writes the number of the batch in the batch and reads it back,
// PostgreSQL is asked for the status of the transaction's id. What cannot be
// found out is ktrdr.CodeUnknownResult, and nothing is repeated blindly.
//
// The plumbing, in the order in which it explains itself:
//
//	open.go     Config, Open
//	tx.go       what a method of the store works with: write, read, tx
//	dialect.go  the few words in which the two databases differ
//	sqlite.go   the file and its connections (session.go)
//	writer.go   SQLite's group commit: the turn (batch.go: what is done with it)
//	pg.go       PostgreSQL's transactions (pgconn.go, pgdial.go)
//	commit.go   whether a failed COMMIT was committed
//	notify.go   Changed, LISTEN and NOTIFY
//	migrate.go  the schema and its version
//	backup.go   one portable format for both (catalog.go, cell.go, restore.go)
//	lock.go     one backend per data folder
package sqlstore
