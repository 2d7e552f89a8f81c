// Package nodelock keeps two agents from managing one node: an exclusive flock(2) on a file, whose content names the
// holder, for the error of a second agent. The kernel releases the lock when its holder exits, for any reason, so a
// lock is never stale and the file can remain.
//
// It owns the lock files and nothing else. It never removes one: unlinking a locked file would let a third agent lock a
// new file of the same name. It runs no goroutine and publishes no event.
package nodelock
