package flex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/clock"
	"github.com/kubeloupe/kubeloupe/agent/inotify"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	names = inotify.Names | inotify.DeleteSelf | inotify.MoveSelf
	// files are the events in a driver's directory: its program was written, or became executable.
	files = names | inotify.CloseWrite | inotify.Attrib
	// settle is how long changes are collected: a driver is installed in several steps.
	settle = 100 * time.Millisecond
	// maxDirs limits the watched directories of drivers, and the drivers that volumes wait for.
	maxDirs = 256
)

// Run watches the directory of drivers until ctx ends, and calls Config.Changed for those that volumes wait for. If the directory cannot be
// watched, Run logs a warning and returns: volumes are then tried again after their back-off.
func (p *Plugin) Run(ctx context.Context) error {
	w, err := inotify.New()
	if err != nil {
		trace.Point(p.cfg.Bus, trace.FromContext(ctx), trace.Log{
			Level: trace.LevelWarn, Message: "new flexvolume drivers in " + p.cfg.Dir + " are noticed only after the back-off of a volume: " + err.Error(),
		})
		return nil
	}
	above := &filter{names: map[int]string{}}
	changes := inotify.NewSignal(w, 16<<10, above.matters)
	defer changes.Close() //nolint:errcheck // nothing was written
	for {
		p.watch(changes.Watcher, above)
		for _, name := range p.waited() {
			if p.cfg.Changed != nil {
				p.cfg.Changed(name)
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case _, ok := <-changes.C:
			if !ok {
				return errors.New("flex: the watch of " + p.cfg.Dir + " has ended")
			}
		}
		clock.Sleep(ctx, settle)
	}
}

// filter selects the events of directories above that of drivers: only those about the next directory on the way matter. Others, such as
// those of /tmp, must not wake the agent.
type filter struct {
	mu    sync.Mutex
	names map[int]string // by watch
}

func (f *filter) matters(events []inotify.Event) (bool, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.ContainsFunc(events, func(e inotify.Event) bool {
		name, above := f.names[e.Watch]
		return !above || e.Name == name || e.Moved()
	}), nil
}

// watch watches the directories that exist: those of drivers, and that of all of them or the nearest one above. To watch one again changes
// nothing.
func (p *Plugin) watch(w *inotify.Watcher, above *filter) {
	for dir, next := filepath.Clean(p.cfg.Dir), ""; ; dir, next = filepath.Dir(dir), filepath.Base(dir) {
		above.mu.Lock() // an event may be read before Add returns
		watch, err := w.Add(dir, names)
		if err == nil && next != "" {
			above.names[watch] = next
		}
		above.mu.Unlock()
		if err == nil || dir == filepath.Dir(dir) {
			break
		}
	}
	entries, err := os.ReadDir(p.cfg.Dir)
	if err != nil {
		return
	}
	for _, e := range entries[:min(len(entries), maxDirs)] {
		if e.IsDir() {
			_, _ = w.Add(filepath.Join(p.cfg.Dir, e.Name()), files)
		}
	}
}

// waits notes that a volume waits for a driver.
func (p *Plugin) waits(driver string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.wanted) < maxDirs {
		p.wanted[driver] = true
	}
}

// waited returns the drivers that volumes have waited for since the last call.
func (p *Plugin) waited() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := make([]string, 0, len(p.wanted))
	for name := range p.wanted {
		out = append(out, name)
	}
	clear(p.wanted)
	return out
}
