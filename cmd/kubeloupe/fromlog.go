package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/tui"
)

// sniffed is how much of a file is looked at to know what it is.
const sniffed = 256 << 10

// openLog opens what --from names if that is no recording: logs, dumps, directories and archives of them. Else log is nil, and rest is what
// to read instead of the input that was given. Anybody may have written it.
func (o *observed) openLog(ctx context.Context, in io.Reader) (log *bundle.Source, rest io.Reader, closing func(), err error) {
	opt, err := o.logOptions()
	if err != nil {
		return nil, in, nil, err
	}
	switch {
	case slices.Contains(o.more, "-") || o.from == "-" && len(o.more) > 0:
		return nil, nil, nil, userError{errors.New("--from -: standard input cannot be read together with files: write it to a file first")}
	case o.from == "-":
		b := bufio.NewReaderSize(&untilEnd{ctx: ctx, from: in}, sniffed)
		head, err := b.Peek(sniffed)
		if ctx.Err() != nil {
			return nil, nil, nil, ctx.Err()
		}
		if err != nil && !errors.Is(err, io.EOF) || !bundle.Looks(head) {
			return nil, b, nil, nil
		}
		log, err = bundle.OpenReader(ctx, b, opt)
		return logOf(ctx, log, err, "-")
	case len(o.more) == 0 && !looks(o.from):
		return nil, in, nil, nil // opening it as a recording says what it is, or finds the part before
	}
	log, err = bundle.Open(ctx, o.named(), opt)
	return logOf(ctx, log, err, strings.Join(o.named(), " "))
}

func logOf(ctx context.Context, log *bundle.Source, err error, names string) (*bundle.Source, io.Reader, func(), error) {
	if ctx.Err() != nil && err != nil {
		return nil, nil, nil, ctx.Err()
	}
	if err != nil {
		return nil, nil, nil, userError{fmt.Errorf("--from %s: %w", names, err)}
	}
	return log, nil, func() { log.Close() }, nil //nolint:errcheck // it was only read
}

// looks reports whether a file is something other than a recording that can be read: by its beginning. A directory is.
func looks(name string) bool {
	st, err := os.Stat(name)
	if err != nil || st.IsDir() {
		return err == nil
	}
	if !st.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	head := make([]byte, sniffed)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return false
	}
	return bundle.Looks(head[:n])
}

func (o *observed) logOptions() (opt bundle.Options, err error) {
	if o.zone == "" {
		return opt, nil
	}
	if opt.Zone, err = time.LoadLocation(o.zone); err != nil {
		return opt, userError{fmt.Errorf("--log-zone %q: must be a time zone, as UTC or Europe/Berlin: %w", o.zone, err)}
	}
	return opt, nil
}

// fromLog is what --from names as a source, where that is no recording.
type fromLog struct {
	*bundle.Source
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

// seenBy says what a report is made from, where that are logs and dumps, and what they cannot tell; "" elsewhere.
func (o *observed) seenBy() string {
	if o.log == nil {
		return ""
	}
	var b strings.Builder
	for _, line := range bundle.SeenBy(o.log.Told()) {
		b.WriteString(line + "\n")
	}
	return b.String()
}

// noPods says that no pod was found.
func (o *observed) noPods() string {
	n := o.log.Told().Entries
	if n == 0 {
		return "No pods: there is no entry of a kubelet.\n"
	}
	return "No pods: no line of the log (" + bundle.Count(n, "entry", "entries") + ") is about a pod.\n"
}

// show opens the UI on what --from names, as it is at its end.
func (o *observed) show(ctx context.Context, s streams, view string, colors theme) error {
	if o.from == "-" {
		return userError{errors.New("--from -: the UI needs the standard input for its keys: write the log to a file first")}
	}
	src, closing, err := o.open(ctx, s.in, false)
	if err != nil {
		return err
	}
	defer closing()
	at := &atEnd{source: src, log: o.log}
	return unlessEnded(ctx, tui.Run(ctx, tui.Config{Source: at, Now: at.now, In: s.in, Out: screen(s.out), ViewName: view, Theme: string(colors), Label: "FILE", LabelNow: at.label}))
}

// atEnd is a source that stays open at its end, whose time is that of its last record.
type atEnd struct {
	source
	log  *bundle.Source // nil where it is a recording
	last atomic.Int64
	seen atomic.Pointer[string]
}

// label says in a few words what was read so far.
func (a *atEnd) label() string {
	if s := a.seen.Load(); s != nil && *s != "" {
		return "FILE " + *s
	}
	return "FILE"
}

func (a *atEnd) now() time.Time { return time.Unix(0, a.last.Load()) }

// Next implements source.
func (a *atEnd) Next(ctx context.Context, buf []trace.Record) (recs []trace.Record, lost uint64, err error) {
	recs, lost, err = a.source.Next(ctx, buf)
	if n := len(recs); n > 0 {
		a.last.Store(recs[n-1].Time)
	}
	if a.log != nil {
		a.seen.Store(new(bundle.Brief(a.log.Told())))
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
