package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/kubeletlog"
	"github.com/kubeloupe/kubeloupe/inspect/attach/logfile"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

// sniffed is how much of a file is looked at to know what it is.
const sniffed = 256 << 10

// openLog opens what --from names if it is a kubelet's log; else log is nil, and in is what to read instead of the input that was given.
// Anybody may have written it.
func (o *observed) openLog(in io.Reader) (log *kubeletlog.Source, rest io.Reader, closing func(), err error) {
	opt, err := o.logOptions()
	if err != nil {
		return nil, in, nil, err
	}
	closing = func() {}
	if o.from != "-" {
		f, err := os.Open(o.from)
		if err != nil {
			return nil, in, nil, nil // opening it as a recording says why, or finds the part before
		}
		st, err := f.Stat()
		if err != nil || !st.Mode().IsRegular() {
			f.Close() //nolint:errcheck // it was only read
			return nil, in, nil, nil
		}
		opt.Latest = st.ModTime()
		in, closing = f, func() { f.Close() } //nolint:errcheck // it was only read
	}
	b := bufio.NewReaderSize(in, sniffed)
	head, err := b.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) || !logfile.Sniff(head) {
		closing()
		return nil, b, nil, nil
	}
	r, err := logfile.NewReader(b, opt)
	if err != nil {
		closing()
		return nil, nil, nil, userError{fmt.Errorf("--from %s: %w", o.from, err)}
	}
	return kubeletlog.NewSource(r), nil, closing, nil
}

func (o *observed) logOptions() (opt logfile.Options, err error) {
	if o.zone == "" {
		return opt, nil
	}
	if opt.Zone, err = time.LoadLocation(o.zone); err != nil {
		return opt, userError{fmt.Errorf("--log-zone %q: must be a time zone, such as UTC or Europe/Berlin: %w", o.zone, err)}
	}
	return opt, nil
}

// fromLog is a kubelet's log as a source.
type fromLog struct {
	*kubeletlog.Source
	file string
}

// Next implements source.
func (f *fromLog) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs, lost, err = f.Source.Next(ctx, buf)
	if err != nil && !errors.Is(err, io.EOF) && ctx.Err() == nil {
		err = userError{fmt.Errorf("--from %s: %w", f.file, err)}
	}
	return recs, lost, err
}

// seenBy says what a report is made from, where that is a kubelet's log, and what such a log cannot tell; "" elsewhere.
func (o *observed) seenBy() string {
	if o.log == nil {
		return ""
	}
	t := o.log.Told()
	var b bytes.Buffer
	fmt.Fprintf(&b, "seen by: kubelet log V%d (as its messages show; it may be more), %s", max(t.Level, 0), count(t.Entries, "entry", "entries"))
	if t.Lost > 0 {
		fmt.Fprintf(&b, ", %s missing: what began or ended in between is unknown", count(t.Lost, "line is", "lines are"))
	}
	if t.Cut > 0 {
		fmt.Fprintf(&b, ", %s cut", count(t.Cut, "entry is", "entries are"))
	}
	b.WriteString("\n")
	switch {
	case t.Level < 2:
		b.WriteString("not in the log at this level: when pods were seen, sandboxes, containers, pulls; raise the kubelet to V2, better V4\n")
	case t.Level == 2:
		b.WriteString("not in the log at this level: pulls, making and starting containers (V3), sandboxes, workers (V4); starts of containers are known to 1 s\n")
	case t.Level == 3:
		b.WriteString("not in the log at this level: sandboxes, workers, container types (V4)\n")
	}
	return b.String()
}

// noPods says that no pod was found.
func (o *observed) noPods() string {
	n := o.log.Told().Entries
	if n == 0 {
		return "No pods: the log has no entry of a kubelet.\n"
	}
	return "No pods: no line of the log (" + count(n, "entry", "entries") + ") tells what became of a pod.\n"
}

// count is a number with its noun.
func count(n uint64, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

// show opens the UI on what --from names, as it is at its end.
func (o *observed) show(ctx context.Context, s streams, view string) error {
	if o.from == "-" {
		return userError{errors.New("--from -: the UI needs the standard input for its keys: write the log to a file first")}
	}
	src, closing, err := o.open(ctx, s.in, false)
	if err != nil {
		return err
	}
	defer closing()
	at := &atEnd{source: src}
	return unlessEnded(ctx, tui.Run(ctx, tui.Config{Source: at, Now: at.now, In: s.in, Out: s.out, ViewName: view, Label: "FILE"}))
}

// atEnd is a source that stays open at its end, whose time is that of its last record.
type atEnd struct {
	source
	last atomic.Int64
}

func (a *atEnd) now() time.Time { return time.Unix(0, a.last.Load()) }

// Next implements source.
func (a *atEnd) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs, lost, err = a.source.Next(ctx, buf)
	if n := len(recs); n > 0 {
		a.last.Store(recs[n-1].Time)
	}
	if !errors.Is(err, io.EOF) {
		return recs, lost, err
	}
	if len(recs) > 0 || lost > 0 {
		return recs, lost, nil
	}
	<-ctx.Done()
	return nil, 0, ctx.Err()
}
