package pluginwatch

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/backoff"
)

// The back-off between attempts to register one plugin.
//
// Upstream: pkg/util/goroutinemap/exponentialbackoff.
const (
	firstDelay = 500 * time.Millisecond
	lastDelay  = 2*time.Minute + 2*time.Second
)

// identity distinguishes a socket from another one at the same path.
type identity struct {
	file
	target file // what a symbolic link points to
}

// file distinguishes a file from another one.
type file struct {
	dev, ino uint64
	made     time.Time
}

// entry is the state of one socket.
type entry struct {
	id         identity
	busy       bool
	registered *plugin
	fails      int // consecutive failures
	retryAt    time.Time
}

// plugin is a registered plugin.
type plugin struct {
	kind, name, endpoint string
}

type step int

const (
	register step = iota
	deregister
	forget
)

type op struct {
	step step
	path string
}

// plan returns the operations to start now, and when to plan again if nothing else happens (zero: never).
func plan(seen map[string]identity, known map[string]*entry, now time.Time) (ops []op, next time.Time) {
	for _, path := range slices.Sorted(maps.Keys(known)) {
		e := known[path]
		id, there := seen[path]
		switch {
		case e.busy:
		case e.registered != nil && (!there || id != e.id):
			ops = append(ops, op{deregister, path})
		case !there:
			ops = append(ops, op{forget, path})
		}
	}
	for _, path := range slices.Sorted(maps.Keys(seen)) {
		e := known[path]
		switch {
		case e == nil:
			ops = append(ops, op{register, path})
		case e.busy || e.registered != nil:
		case e.id == seen[path] && e.retryAt.After(now):
			if next.IsZero() || e.retryAt.Before(next) {
				next = e.retryAt
			}
		default:
			ops = append(ops, op{register, path})
		}
	}
	return ops, next
}

// fail records a failed attempt.
func (e *entry) fail(now time.Time) {
	e.retryAt = now.Add(backoff.After(backoff.Doubling(firstDelay, lastDelay), e.fails))
	e.fails++
}
