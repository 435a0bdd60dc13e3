// Package doctor checks an installation: its folder, database, blobs and server.
// It changes nothing.
package doctor
