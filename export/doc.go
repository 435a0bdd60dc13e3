// Package export writes what the lab knows as tables for other programs: CSV for
// spreadsheets, Parquet for pandas and DuckDB. docs/formats.md says what each
// column means.
//
//	API answers ──> rows (Go structs) ──> Table ──> CSV or Parquet ──> folder
//
// An export is complete or absent: its files get their names when all are written.
package export
