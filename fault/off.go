//go:build !failpoint

package fault

// Hit does nothing in this build.
func Hit(Point) {}
