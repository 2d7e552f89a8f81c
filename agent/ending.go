package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// endTimeout is how long the parts may take to stop. What takes longer than their calls' own timeouts is file
// operations: those of a file system that does not respond, such as a dead NFS server's, may take any time.
const endTimeout = 15 * time.Second

// ending has the parts that have not ended.
type ending struct {
	mu      sync.Mutex
	working map[string]bool
}

func (e *ending) begun(name string) { e.set(name, true) }
func (e *ending) ended(name string) { e.set(name, false) }

func (e *ending) set(name string, works bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if works {
		e.working[name] = true
	} else {
		delete(e.working, name)
	}
}

// wait returns the result of all or, some time after ctx has ended, ctx's cause and the parts that still run.
func (e *ending) wait(ctx context.Context, all func() error) (hung []string, err error) {
	done := make(chan error, 1)
	go func() { done <- all() }()
	select {
	case err := <-done:
		return nil, err
	case <-ctx.Done():
	}
	late := time.NewTimer(endTimeout)
	defer late.Stop()
	select {
	case err := <-done:
		return nil, err
	case <-late.C:
	}
	if err = context.Cause(ctx); errors.Is(err, context.Canceled) {
		err = nil // it was requested to stop; otherwise a part has failed
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Sorted(maps.Keys(e.working)), err
}
