// Package guestfile opens and reads files that a container can write: its hosts file, its termination log, what it
// logs, what is in its volumes. Whoever is root there chooses content, size and kind: a named pipe that never opens,
// a device whose opening does something, a link to a file of the node, terabytes of nothing.
//
// A path is first opened for its place only (O_PATH, no link followed), which does nothing to what is there; only a
// regular file is then opened in earnest, through that place, and without waiting for a lease. Reads have a limit.
// Each operation runs in a goroutine of its own and is given up after a deadline, as on a file system that no longer
// answers; while a given-up one still hangs, its path is not tried again, and there is a bound on how many may hang.
//
// It owns nothing, keeps no content, holds no lock while it touches a file, and publishes no event.
package guestfile
