package pressure

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Period is how often Run measures.
const Period = 10 * time.Second

// Usage is the usage of a resource, in bytes.
type Usage struct{ Used, Capacity int64 }

// Signal is one measured resource.
type Signal struct {
	Name trace.Signal
	// Thresholds are its thresholds; may be empty.
	Thresholds []trace.Threshold
	// Measure returns the current usage.
	Measure func(context.Context) (Usage, error)
}

// Config is what a Watcher needs.
type Config struct {
	// Bus receives the events; nil drops them.
	Bus     *trace.Bus
	Signals []Signal
	// Seen receives each measurement; may be nil.
	Seen func(signal trace.Signal, u Usage, now time.Time)
}

// Watcher publishes the usage of its signals.
type Watcher struct {
	bus     *trace.Bus
	signals []Signal
	seen    func(signal trace.Signal, u Usage, now time.Time)
	failing map[trace.Signal]bool
}

// New returns a Watcher.
func New(c Config) (*Watcher, error) {
	var errs []error
	for i, s := range c.Signals {
		if s.Name == "" || s.Measure == nil {
			errs = append(errs, fmt.Errorf("pressure: signal %d (%q) needs a Name and a Measure", i, s.Name))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &Watcher{bus: c.Bus, signals: c.Signals, seen: c.Seen, failing: make(map[trace.Signal]bool)}, nil
}

// Run measures now and every Period until ctx is done.
func (w *Watcher) Run(ctx context.Context) error {
	t := time.NewTicker(Period)
	defer t.Stop()
	for {
		w.measure(ctx)
		select {
		case <-ctx.Done():
			return nil
		case <-t.C:
		}
	}
}

func (w *Watcher) measure(ctx context.Context) {
	for _, s := range w.signals {
		u, err := s.Measure(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			if !w.failing[s.Name] {
				trace.Point(w.bus, trace.Span{}, trace.Log{Level: trace.LevelWarn, Message: fmt.Sprintf("cannot measure %s: %v", s.Name, err)})
			}
			w.failing[s.Name] = true
			continue
		}
		w.failing[s.Name] = false
		if w.seen != nil {
			w.seen(s.Name, u, time.Now())
		}
		trace.Point(w.bus, trace.Span{}, trace.Pressure{Signal: s.Name, Used: u.Used, Capacity: u.Capacity, Thresholds: s.Thresholds})
	}
}
