package stats

import (
	"context"
	"sync"
	"time"
)

const (
	// walkAgain is how long what a walk found is good for. A long walk is good for longer, so that it takes a tenth of a processor at most.
	walkAgain  = time.Minute
	walkFactor = 10
	// walkLimit is how long a walk may take. What it has found by then is what the directory holds at least.
	walkLimit = 15 * time.Second
	// walkers are so many walks at once.
	walkers = 2
	// walksWait is how long a summary waits for walks, all together.
	walksWait = time.Second
)

// usage is what directories hold. Containers fill them, so that looking may take any time: it is done beside, by a few, and
// who asks gets what was found last.
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
	again time.Time     // before, what was found is good
	done  chan struct{} // closed when the walk that is due or under way is done; nil is none
	began time.Time     // when it was requested
}

func newUsage() *usage { return &usage{walk: walk, dirs: map[string]*dirUsage{}} }

// of returns what lies below dir, on its own file system, or false if nobody has looked yet. It waits for a walk that has just
// begun, until ctx ends.
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

// work walks what is due, and ends.
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

// forget drops directories that nobody asks for any more.
func (u *usage) forget(now time.Time) {
	for dir, d := range u.dirs {
		if d.done == nil && now.Sub(d.asked) > 10*walkAgain {
			delete(u.dirs, dir)
		}
	}
}
