package flex

import (
	"context"
	"errors"
	"os"
	"path/filepath"
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
	changes := inotify.NewSignal(w, 16<<10, nil)
	defer changes.Close() //nolint:errcheck // nothing was written
	for {
		p.watch(changes.Watcher)
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

// watch watches the directories that exist: those of drivers, and that of all of them or the nearest one above. To watch one again changes
// nothing.
func (p *Plugin) watch(w *inotify.Watcher) {
	for dir := p.cfg.Dir; ; dir = filepath.Dir(dir) {
		if _, err := w.Add(dir, names); err == nil || dir == filepath.Dir(dir) {
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
