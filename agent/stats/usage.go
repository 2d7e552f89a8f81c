package stats

import (
	"cmp"
	"context"
	"sync"
	"time"
)

const (
	// walkAgain is how long the result of a walk is valid, walkFresh how long if a fresh one is needed. A long walk's is valid longer,
	// so that walks use at most a tenth of a CPU.
	walkAgain  = time.Minute
	walkFresh  = 9 * time.Second
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
	walk      func(ctx context.Context, dir string) held
	collected *collected // may be nil
	// patience is how long a caller waits instead of the constant patience, if it is not zero.
	patience time.Duration

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
	began time.Time     // when it was requested
	took  time.Duration // how long the last walk took
	ended time.Time     // when it ended
	done  chan struct{} // closed when the pending or running walk is done; nil for none
}

// valid reports whether the result is recent enough.
func (d *dirUsage) valid(fresh bool, now time.Time) bool {
	keep := walkAgain
	if fresh {
		keep = walkFresh
	}
	return d.known && now.Before(d.ended.Add(max(keep, walkFactor*d.took)))
}

// walks says how a request uses walks: until when it waits for them all, and whether it needs fresh results.
type walks struct {
	until context.Context
	fresh bool
}

func newUsage() *usage { return &usage{walk: walk, dirs: map[string]*dirUsage{}} }

// of returns the usage below dir, on its own file system, or false if it is not known yet. It waits for a walk that has
// just begun, until w ends.
func (u *usage) of(w walks, dir string, now time.Time) (held, bool) {
	u.mu.Lock()
	d := u.dirs[dir]
	if d == nil {
		d = &dirUsage{}
		u.dirs[dir] = d
	}
	d.asked = now
	if d.done == nil && !d.valid(w.fresh, now) {
		d.done, d.began = make(chan struct{}), now
		u.queue = append(u.queue, dir)
		if u.busy < walkers {
			u.busy++
			go u.work()
		}
	}
	done, wait := d.done, cmp.Or(u.patience, patience)-now.Sub(d.began)
	u.mu.Unlock()
	if done != nil && wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-done:
		case <-w.until.Done():
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
		u.collected.from(byWalk, began)
		now := time.Now()

		u.mu.Lock()
		d := u.dirs[dir]
		d.held, d.known, d.took, d.ended = found, true, now.Sub(began), now
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
