package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/merge"
	"github.com/kubeloupe/kubeloupe/trace"
)

const (
	// hold is how long what a log tells is held back, window how long it then waits for what others tell of the same.
	hold   = 2 * time.Second
	window = 500 * time.Millisecond
	// tick is how often what has become due is published.
	tick = 200 * time.Millisecond
	// stuck is how long nothing comes from the reader of a log, which speaks several times a second, until others do not wait for it any more.
	stuck = 15 * time.Second
	// again is when a log that could not be read is opened again.
	again = 5 * time.Second
	// burst is how many records are published before their readers get a moment: a start publishes minutes of the past.
	burst = 512
	pause = 5 * time.Millisecond
)

// Back is how far back in a log reading begins, so that what happened just before is known.
const Back = 10 * time.Minute

// Config says what to watch. Found and Bus are required.
type Config struct {
	Found *discover.Found
	Bus   *trace.Bus
	// Back is how far back reading begins; 0 is [Back].
	Back time.Duration
	// View is the machine; nil is [discover.Machine].
	View discover.View
	// Observers see the kubelet beside its log and the runtime's.
	Observers []Observer
}

// Watch watches one kubelet. Use [New].
type Watch struct {
	cfg     Config
	in      chan message
	merger  *merge.Merger
	kubelet *kubeletlog.Fold
	runtime *containerdlog.Fold
	logs    map[observer]*log
	now     atomic.Pointer[discover.Found]
	beside  []*beside // the observers
	began   time.Time // when Run was called
}

// observer is one of the logs.
type observer uint8

const (
	kubeletLog observer = iota
	runtimeLog
)

// String names the observer as people call it.
func (o observer) String() string {
	if o == kubeletLog {
		return "the kubelet's log"
	}
	return "the runtime's log"
}

// log is what is known of a log that is followed.
type log struct {
	input *merge.Input
	idle  bool // all that was written has been read
	ticks int  // since its reader passed something on
}

// message is what a reader passes on.
type message struct {
	from  observer
	by    *beside // who saw rec, where it is not a log
	rec   trace.Record
	entry *klog.Entry
	line  *containerdlog.Line
	lost  uint64
	idle  bool
	ended bool
}

// New returns a watch of what was found.
func New(cfg Config) *Watch {
	cfg.Back = cmp.Or(cfg.Back, Back)
	if cfg.View == nil {
		cfg.View = discover.Machine{}
	}
	w := &Watch{
		cfg: cfg, in: make(chan message, 256), merger: merge.New(merge.Options{Window: window}),
		kubelet: kubeletlog.NewFold(), runtime: containerdlog.NewFold(containerdlog.Options{Hold: hold}), logs: map[observer]*log{},
	}
	w.kubelet.Live(hold)
	w.now.Store(cfg.Found)
	return w
}

// Level is the verbosity of the kubelet's log as far as its messages tell. It is for the goroutine of Run, or after it.
func (w *Watch) Level() int { return w.kubelet.Level() }

// Found is the kubelet that runs now, or ran last: it may have been restarted. It is safe for concurrent use.
func (w *Watch) Found() *discover.Found { return w.now.Load() }

// Run watches until ctx ends. What fails is said in Log records.
func (w *Watch) Run(ctx context.Context) error {
	w.began = time.Now()
	var g errgroup.Group
	follow := func(o observer, l discover.Log) {
		w.logs[o] = &log{input: w.merger.Input()}
		g.Go(func() error { return w.follow(ctx, o, l) })
	}
	if readable(w.cfg.Found.Log) {
		follow(kubeletLog, w.cfg.Found.Log)
	}
	if l := w.cfg.Found.Runtime.Log; readable(l) && !sameLog(l, w.cfg.Found.Log) {
		follow(runtimeLog, l)
	} else if readable(w.cfg.Found.Log) {
		w.logs[runtimeLog] = &log{input: w.merger.Input()} // its lines may be in the kubelet's
	}
	for _, o := range append(w.observersOf(), w.cfg.Observers...) {
		w.observe(ctx, &g, o)
	}
	w.present(ctx)
	g.Go(func() error { return w.publish(ctx) })
	g.Go(func() error { return w.restarts(ctx) })
	return g.Wait()
}

func readable(l discover.Log) bool {
	return l.Kind == discover.LogFile || l.Kind == discover.LogJournal
}

// sameLog reports whether two programs write to one log.
func sameLog(a, b discover.Log) bool { return a.Kind == b.Kind && a.Unit == b.Unit && a.Path == b.Path }

// publish takes in what the readers pass on and publishes what is due.
func (w *Watch) publish(ctx context.Context) error {
	t := time.NewTicker(tick)
	defer t.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case m := <-w.in:
			w.take(&m)
		case <-t.C:
			w.idles(time.Now())
		}
		if err := w.drain(ctx); err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
	}
}

// take takes a message in.
func (w *Watch) take(m *message) {
	if m.by != nil {
		w.takeSeen(m)
		return
	}
	l := w.logs[m.from]
	if l == nil {
		return
	}
	if m.lost > 0 {
		w.say(trace.LevelWarn, fmt.Sprintf("%d lines of %s are missing: what began or ended in them is unknown", m.lost, m.from))
		if m.from == kubeletLog {
			w.kubelet.Lost(m.lost)
		} else {
			w.runtime.Lost(m.lost)
		}
	}
	l.idle, l.ticks = m.idle || m.ended, 0
	switch {
	case m.entry != nil:
		w.kubelet.Apply(m.entry)
	case m.line != nil:
		w.runtime.Apply(m.line)
	}
}

// idles lets time pass for logs to which nothing is added.
func (w *Watch) idles(now time.Time) {
	at := now.Add(-tick).UnixNano()
	kubelet, runtime := w.logs[kubeletLog], w.logs[runtimeLog]
	if kubelet != nil {
		w.passes(kubeletLog, now)
		if kubelet.idle {
			w.kubelet.Until(at)
			kubelet.input.Until(at - int64(hold))
		}
	}
	if runtime != nil {
		if !w.within() {
			w.passes(runtimeLog, now)
		}
		if runtime.idle || w.within() && kubelet.idle {
			w.runtime.Until(at)
			runtime.input.Until(at - int64(hold))
		}
	}
	w.seenUntil(at)
}

// passes lets time pass for a log whose reader is stuck, for example because its disk does not respond. What it reads later comes late.
// It counts ticks: of the time for which this process itself was stopped, nothing follows.
func (w *Watch) passes(o observer, now time.Time) {
	const most = int(stuck / tick)
	l := w.logs[o]
	if l.ticks++; l.ticks < most {
		return
	}
	if l.ticks == most {
		w.say(trace.LevelWarn, fmt.Sprintf("%s could not be read for %v: its records will be late", o, stuck))
	}
	until := now.Add(-stuck - hold).UnixNano()
	l.input.Until(until)
	if o == kubeletLog && w.logs[runtimeLog] != nil && w.within() { // the runtime's lines are in it
		w.logs[runtimeLog].input.Until(until)
	}
}

// within reports whether the runtime's lines, if any, are in the kubelet's log.
func (w *Watch) within() bool {
	return !readable(w.cfg.Found.Runtime.Log) || sameLog(w.cfg.Found.Runtime.Log, w.cfg.Found.Log)
}

// drain publishes what is due.
func (w *Watch) drain(ctx context.Context) error {
	if l := w.logs[kubeletLog]; l != nil {
		for r, lost, ok := w.kubelet.Next(false); ok; r, lost, ok = w.kubelet.Next(false) {
			l.input.Lost(lost)
			l.input.Put(r)
		}
		l.input.Until(w.kubelet.Due())
	}
	if l := w.logs[runtimeLog]; l != nil {
		for r, lost, ok := w.runtime.Next(false); ok; r, lost, ok = w.runtime.Next(false) {
			l.input.Lost(lost)
			l.input.Put(r)
		}
		l.input.Until(w.runtime.Due())
		if k := w.logs[kubeletLog]; k != nil && w.within() { // it is read as far as the kubelet's is
			l.input.Until(w.kubelet.Due())
		}
	}
	n := 0
	for r, _, ok := w.merger.Next(); ok; r, _, ok = w.merger.Next() {
		if w.see(&r) {
			w.cfg.Bus.Insert(&r)
		}
		if n++; n%burst != 0 {
			continue
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
	return nil
}

// say publishes a sentence of attach's own.
func (w *Watch) say(level trace.LogLevel, text string) {
	trace.Point(w.cfg.Bus, trace.Span{}, trace.Log{Level: level, Message: "attach: " + text})
}

// follow reads a log until ctx ends.
func (w *Watch) follow(ctx context.Context, o observer, l discover.Log) error {
	return w.repeat(ctx, o.String(), func(since time.Time) error { return w.read(ctx, o, l, since) }, func() bool {
		return w.pass(ctx, message{from: o, ended: true})
	})
}

// repeat reads from an observer until ctx ends; what cannot be read is read again, and said once. ended is called between.
func (w *Watch) repeat(ctx context.Context, name string, read func(since time.Time) error, ended func() bool) error {
	said := ""
	for since := time.Now().Add(-w.cfg.Back); ; since = time.Now().Add(-again) {
		err := read(since)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // that is its end
		}
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if text := err.Error(); text != said {
			said = text
			w.say(trace.LevelError, fmt.Sprintf("%s cannot be read; attach retries: %v", name, err))
		}
		if !ended() {
			return nil
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(again):
		}
	}
}

func (w *Watch) pass(ctx context.Context, m message) bool {
	select {
	case w.in <- m:
		return true
	case <-ctx.Done():
		return false
	}
}

// errNothing is a log that says nothing about itself.
var errNothing = errors.New("it is neither a file nor in the journal")
