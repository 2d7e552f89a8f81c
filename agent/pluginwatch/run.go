package pluginwatch

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/kubeloupe/kubeloupe/agent/inotify"
	"github.com/kubeloupe/kubeloupe/trace"
)

// period is only a safety net. Without inotify, and while there are symbolic links, the directory is looked at every unwatched.
const (
	period    = 5 * time.Minute
	unwatched = 10 * time.Second
)

// Handler registers plugins of one type.
type Handler interface {
	// Register registers the plugin; an error refuses it, and the plugin is notified. An [InvalidError] says that the plugin is not valid. It is
	// called again later, also for a registered plugin.
	Register(ctx context.Context, name, endpoint string, versions []string) error
	// Deregister removes the plugin. Another plugin with that name may use the endpoint by then.
	Deregister(ctx context.Context, name, endpoint string)
}

// InvalidError is why a plugin cannot be registered, by what it says about itself, such as its versions.
type InvalidError struct{ Err error }

// Invalidf returns an [InvalidError] with a text as that of [fmt.Errorf].
func Invalidf(format string, args ...any) error {
	return &InvalidError{Err: fmt.Errorf(format, args...)}
}

// Error implements error.
func (e *InvalidError) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *InvalidError) Unwrap() error { return e.Err }

// Config is what a Watcher needs.
type Config struct {
	// Dir is the registry: ROOT/plugins_registry. It is created if necessary.
	Dir string
	// Handlers are the handlers by type, such as CSIPlugin. A plugin of another type is notified that there is none.
	Handlers map[string]Handler
	Bus      *trace.Bus
}

// Watcher registers the plugins of the sockets in a directory.
type Watcher struct {
	cfg   Config
	ended chan outcome
	links *follower
	// known is changed only by the loop, with mu.
	known map[string]*entry
	mu    sync.Mutex
}

// Sockets returns the paths of the sockets in the registry, and which of them belong to registered plugins. It is safe for concurrent use.
func (w *Watcher) Sockets() map[string]bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]bool{}
	for path, e := range w.known {
		out[path] = e.registered != nil
	}
	return out
}

// outcome is the result of an operation on a socket.
type outcome struct {
	path string
	id   identity
	got  *plugin // the registered plugin; nil if there is none
	err  error
}

// New checks the configuration. It starts nothing; Run does.
func New(cfg Config) (*Watcher, error) {
	if !filepath.IsAbs(cfg.Dir) {
		return nil, fmt.Errorf("pluginwatch: Config.Dir %q: want an absolute path", cfg.Dir)
	}
	if len(cfg.Handlers) == 0 {
		return nil, errors.New("pluginwatch: Config.Handlers is empty")
	}
	return &Watcher{cfg: cfg, ended: make(chan outcome), links: newFollower(), known: map[string]*entry{}}, nil
}

// Run watches until ctx ends, and returns nil then. Plugins stay registered. If the kernel's limit of inotify instances is reached, it looks
// at the directory periodically. Lookups of symbolic links that hang outlive it.
func (w *Watcher) Run(ctx context.Context) error {
	if err := os.MkdirAll(w.cfg.Dir, 0o750); err != nil {
		return fmt.Errorf("plugin registry: %w", err)
	}
	var changed <-chan struct{}
	watch, err := newWatcher()
	switch {
	case errors.Is(err, inotify.ErrLimit):
		w.decide(ctx, w.cfg.Dir, trace.VerdictUnwatched, err.Error())
	case err != nil:
		return fmt.Errorf("plugin registry: %w", err)
	default:
		defer func() { _ = watch.Close() }()
		changed = watch.C
	}
	var under sync.WaitGroup
	defer under.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for {
		timer := time.NewTimer(w.pass(ctx, watch, &under))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-changed:
		case out := <-w.ended:
			w.note(out)
		case <-timer.C:
		}
		timer.Stop()
	}
}

// pass scans the registry, starts operations and returns the time until the next pass. watch is nil without inotify.
func (w *Watcher) pass(ctx context.Context, watch *inotify.Signal, under *sync.WaitGroup) time.Duration {
	found, limit := scan(ctx, w.cfg.Dir, w.links), period
	if watch == nil || found.linked {
		limit = unwatched
	}
	if watch == nil {
		found.dirs = nil
	}
	for _, d := range found.dirs {
		if _, err := watch.Add(d, watchOps); err != nil {
			w.decide(ctx, d, trace.VerdictUnwatched, err.Error())
		}
	}
	if again := scan(ctx, w.cfg.Dir, w.links); len(again.sockets) != len(found.sockets) {
		found = again // a socket appeared between the scan and the watch
	}
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	found.keep(w.known)
	seen := found.sockets
	ops, next := plan(seen, w.known, now)
	for _, o := range ops {
		if o.step == forget {
			delete(w.known, o.path)
			continue
		}
		e := w.known[o.path]
		if e == nil {
			e = &entry{}
			w.known[o.path] = e
		}
		if o.step == register && e.id != seen[o.path] {
			e.id, e.fails = seen[o.path], 0
		}
		e.busy = true
		id, was := e.id, e.registered
		under.Go(func() {
			out := outcome{path: o.path, id: id}
			if o.step == register {
				out.got, out.err = w.register(ctx, o.path)
			} else {
				w.cfg.Handlers[was.kind].Deregister(ctx, was.name, was.endpoint)
				w.decide(ctx, was.name, trace.VerdictRemoved, "its socket "+o.path+" is gone or is another one now")
			}
			select {
			case w.ended <- out:
			case <-ctx.Done():
			}
		})
	}
	if next.IsZero() {
		return limit
	}
	return min(limit, next.Sub(now))
}

func (w *Watcher) note(out outcome) {
	w.mu.Lock()
	defer w.mu.Unlock()
	e := w.known[out.path]
	e.busy, e.registered = false, out.got
	e.retryAt = time.Time{}
	switch {
	case out.err != nil:
		e.fail(time.Now())
	case out.got != nil:
		e.fails = 0
	default:
		e.id = identity{} // deregistered: what exists now is new
	}
}

func (w *Watcher) decide(ctx context.Context, subject string, verdict trace.Verdict, reason string) {
	trace.Point(w.cfg.Bus, trace.FromContext(ctx), trace.Decision{By: trace.ByPlugins, Subject: subject, Verdict: verdict, Reason: reason})
}
