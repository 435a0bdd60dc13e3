// Package backend is what `ktrdr serve` runs: it reads the configuration, opens the
// database, the blobs and the engine, wires models, desks and watchers to them,
// runs everything until it is stopped, and closes it in the opposite order. It
// also opens the same storage for commands that work without a server, and
// restores backups.
package backend
