package stats

import (
	"context"
	"sync"
	"time"
)

const (
	// walkAgain is how long the result of a walk is valid. A long walk's is valid longer, so that walks use at most a
	// tenth of a CPU.
	walkAgain  = time.Minute
	walkFactor = 10
	// walkLimit is the maximum duration of a walk. Its result is then a lower bound.
	walkLimit = 15 * time.Second
	// walkers is the maximum number of concurrent walks.
	walkers = 2
	// walksWait is how long a summary waits for all its walks.
	walksWait = time.Second
)

// usage has the sizes of directories. Containers fill them, so a walk may take any time: it runs in the background, in
// few goroutines, and callers get the last result.
type usage struct {
	walk func(ctx context.Context, dir string) held

	mu    sync.Mutex
	dirs  map[string]*dirUsage
	queue []string
	busy  int
}

type held struct{ bytes, inodes uint64 }

type dirUsage struct {
	held
	known bool
	asked time.Time
	again time.Time     // until then the result is valid
	done  chan struct{} // closed when the pending or running walk is done; nil for none
	began time.Time     // when it was requested
}

func newUsage() *usage { return &usage{walk: walk, dirs: map[string]*dirUsage{}} }

// of returns the usage below dir, on its own file system, or false if it is not known yet. It waits for a walk that has
// just begun, until ctx ends.
func (u *usage) of(ctx context.Context, dir string, now time.Time) (held, bool) {
	u.mu.Lock()
	d := u.dirs[dir]
	if d == nil {
		d = &dirUsage{}
		u.dirs[dir] = d
	}
	d.asked = now
	if d.done == nil && !now.Before(d.again) {
		d.done, d.began = make(chan struct{}), now
		u.queue = append(u.queue, dir)
		if u.busy < walkers {
			u.busy++
			go u.work()
		}
	}
	done, wait := d.done, patience-now.Sub(d.began)
	u.mu.Unlock()
	if done != nil && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-ctx.Done():
		case <-timer.C:
		}
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return d.held, d.known
}

// work runs the pending walks, then returns.
func (u *usage) work() {
	for {
		u.mu.Lock()
		if len(u.queue) == 0 {
			u.busy--
			u.forget(time.Now())
			u.mu.Unlock()
			return
		}
		dir := u.queue[0]
		u.queue = u.queue[1:]
		u.mu.Unlock()

		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), walkLimit)
		found := u.walk(ctx, dir)
		cancel()
		now := time.Now()

		u.mu.Lock()
		d := u.dirs[dir]
		d.held, d.known, d.again = found, true, now.Add(max(walkAgain, walkFactor*now.Sub(began)))
		close(d.done)
		d.done = nil
		u.mu.Unlock()
	}
}

// forget removes directories that were not requested for a long time.
func (u *usage) forget(now time.Time) {
	for dir, d := range u.dirs {
		if d.done == nil && now.Sub(d.asked) > 10*walkAgain {
			delete(u.dirs, dir)
		}
	}
}
