// Package guestfile opens and reads files that a container can write: its hosts file, its termination log, its logs, its volumes.
// Root in the container chooses content, size and kind: a named pipe that blocks an open, a device whose opening has an effect, a
// link to a file of the node, terabytes of zeros.
//
// The package first opens a path with O_PATH, which follows no link and has no effect on the file; then it opens only a regular
// file, through this descriptor, and without waiting for a lease. Reads have a limit. Each operation runs in a separate goroutine
// and has a deadline, because file systems can hang. While an operation still hangs after its deadline, its path is not tried
// again, and the number of such operations is limited.
//
// The package owns nothing, keeps no content, holds no lock during file operations, and publishes no event.
package guestfile
