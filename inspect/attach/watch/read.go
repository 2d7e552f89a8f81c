package watch

import (
	"context"
	"errors"
	"io"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/containerdlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/discover"
	"github.com/kubeloupe/kubeloupe/inspect/attach/follow"
	"github.com/kubeloupe/kubeloupe/inspect/attach/klog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// read reads a log until ctx ends, or until it cannot be read.
func (w *Watch) read(ctx context.Context, o observer, l discover.Log, since time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	in, closing, err := w.open(ctx, o, l, since)
	if err != nil {
		return err
	}
	defer closing()
	opt := logfile.Options{Export: l.Kind == discover.LogJournal, Zone: w.cfg.Found.Zone}
	old, oldLine := past{since: since}, past{since: since}
	opt.Runtime = func(text string) bool {
		line, ok := containerdlog.ParseLine(text)
		if ok && !oldLine.has(line.Time) {
			w.pass(ctx, message{from: runtimeLog, line: &line})
		}
		return ok
	}
	r, err := logfile.NewReader(in, opt)
	if err != nil {
		return err
	}
	if j, ok := in.(*follow.Journal); ok {
		j.Cursor = r.Cursor
	}
	for {
		it, err := r.Next()
		m := message{from: o, lost: it.Lost}
		switch {
		case errors.Is(err, logfile.ErrIdle):
			m.idle = true
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return err
		case !it.Entry.Time.IsZero() && o == kubeletLog && !old.has(it.Entry.Time):
			m.entry = &it.Entry
		case it.Lost == 0:
			continue
		}
		if !w.pass(ctx, m) {
			return nil
		}
	}
}

// past is the beginning of a log, which is too old to matter. It ends once: what has an older time then is of a clock that was set back.
type past struct {
	since time.Time
	ended bool
}

// has reports whether what was written at t is of the past.
func (p *past) has(t time.Time) bool {
	p.ended = p.ended || !t.Before(p.since)
	return !p.ended
}

// open opens a log where since begins.
func (w *Watch) open(ctx context.Context, o observer, l discover.Log, since time.Time) (in io.Reader, closing func(), err error) {
	notice := func(gap bool, text string) {
		level := trace.LevelInfo
		if gap {
			level = trace.LevelWarn
		}
		w.say(level, text)
	}
	switch l.Kind {
	case discover.LogFile:
		old := func(piece []byte) bool { return before(o, piece, since, w.cfg.Found.Zone) }
		f, err := follow.OpenFile(ctx, w.pathOf(o, &l), old, notice)
		if err != nil {
			return nil, nil, err
		}
		f.Now = func() string { return w.pathOf(o, &l) }
		return f, func() { f.Close() }, nil //nolint:errcheck // it was only read
	case discover.LogJournal:
		j, err := follow.OpenJournal(ctx, l.Unit, since, notice)
		return j, func() {}, err
	case discover.LogPipe, discover.LogTerminal, discover.LogNowhere, discover.LogUnknown:
	}
	return nil, nil, errNothing
}

// pathOf is where a log's file is now. A kubelet that was started again in a mount namespace of its own has its files below another process.
func (w *Watch) pathOf(o observer, l *discover.Log) string {
	was, now := w.cfg.Found, w.Found()
	if o != kubeletLog || now == was || l.Through != nil {
		return l.Open
	}
	if now.Log.Kind == discover.LogFile && now.Log.Path == l.Path && now.Log.Through == nil {
		return now.Log.Open
	}
	// One that was named on the command line.
	if rest, below := strings.CutPrefix(l.Open, was.Process.Files+"/"); below && was.Process.Files != "" {
		return now.Outside(rest)
	}
	return l.Open
}

// before reports whether a piece of a log begins before a time: the first line with a time counts.
func before(o observer, piece []byte, since time.Time, zone *time.Location) bool {
	for text := range strings.Lines(string(piece)) {
		if o == runtimeLog {
			if l, ok := containerdlog.ParseLine(text); ok {
				return l.Time.Before(since)
			}
			continue
		}
		if at := klog.HeaderAt(text); at >= 0 && !strings.Contains(text[:at], "\t") { // else it is a line of a value
			if e, ok := klog.ParseText(text[at:], &klog.Clock{Zone: zone}); ok {
				return e.Time.Before(since)
			}
		}
		if e, ok := klog.ParseJSON(text); ok {
			return e.Time.Before(since)
		}
	}
	return false
}
