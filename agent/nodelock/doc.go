// Package nodelock keeps two agents from managing one node: an exclusive flock(2) on a file, whose content names the
// holder for whoever is turned away. The kernel drops the lock when its holder ends, however it ends, so a lock is never
// stale and the file may stay.
//
// It owns the lock files and nothing else. It never removes one: unlinking a locked file would let a third agent lock a
// new file of the same name. It runs no goroutine of its own and publishes no event.
package nodelock
