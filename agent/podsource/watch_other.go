//go:build !linux

package podsource

import (
	"errors"
	"fmt"
	"runtime"
)

// watcher needs inotify; without it the file source polls.
type watcher struct{}

func newWatcher() (*watcher, error) {
	return nil, fmt.Errorf("%s has no inotify: %w", runtime.GOOS, errors.ErrUnsupported)
}

func (*watcher) close() {}

func (*watcher) batches() <-chan []change { return nil }

func (*watcher) arm(string) error { return nil }

func (*watcher) interpret(string, []change) ([]change, bool) { return nil, true }
