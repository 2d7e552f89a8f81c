package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/spanfile"
	"github.com/kubeloupe/kubeloupe/trace"
)

// inTrace notes which pod a trace is about.
type inTrace struct {
	id  trace.TraceID
	pod trace.Pod
}

// Apply implements folder.
func (f *inTrace) Apply(r *trace.Record) {
	if r.Trace == f.id && !r.Pod.IsZero() && f.pod.IsZero() {
		f.pod = r.Pod
	}
}

// Lost implements folder.
func (f *inTrace) Lost(uint64) {}

// parseTrace reads the flag --trace-id.
func (t *tracing) parseTrace(args []string) error {
	if t.traceID == "" {
		return nil
	}
	if t.all || t.diff || len(args) > 0 {
		return errors.New("--trace-id selects the start: remove --all, --diff and POD")
	}
	if err := t.trace.UnmarshalText([]byte(t.traceID)); err != nil || t.trace.IsZero() {
		return fmt.Errorf("--trace-id %q: must be 32 hexadecimal digits", t.traceID)
	}
	return nil
}

// foldTrace takes in the records, and returns the pod that the trace is about. The spans of a tracing backend are records, too.
func (t *tracing) foldTrace(ctx context.Context, into []folder) (pod trace.Pod, now time.Time, err error) {
	f := &inTrace{id: t.trace}
	in, closing, isSpans, err := t.openSpans(ctx)
	if err != nil {
		return pod, now, err
	}
	defer closing()
	if !isSpans {
		if in == nil {
			in = t.s.in
		}
		now, err = t.fold(ctx, in, append(into, f)...)
		return f.pod, now, err
	}
	recs, lost, err := spanfile.Read(in, t.trace)
	if err != nil {
		return pod, now, userError{fmt.Errorf("--from %s: %w", t.from, err)}
	}
	for i := range recs {
		f.Apply(&recs[i])
		for _, to := range into {
			to.Apply(&recs[i])
			if i == 0 { // of which part they are is not known: the whole start is incomplete
				to.Lost(uint64(lost))
			}
		}
	}
	return f.pod, recs[len(recs)-1].At(), nil
}

// openSpans opens what --from names, if that is of a tracing backend. Else in is standard input, as far as it was not read.
func (t *tracing) openSpans(ctx context.Context) (in io.Reader, closing func(), isSpans bool, err error) {
	nothing := func() {}
	switch {
	case t.from == "" || len(t.more) > 0:
		return nil, nothing, false, nil
	case t.from == "-":
		b := bufio.NewReaderSize(&untilEnd{ctx: ctx, from: t.s.in}, sniffed)
		head, _ := b.Peek(sniffed) // what is wrong with it is said when it is read
		return b, nothing, spanfile.Looks(head), ctx.Err()
	}
	f, err := os.Open(t.from)
	if err != nil {
		return nil, nothing, false, userError{fmt.Errorf("--from: %w", err)}
	}
	head := make([]byte, sniffed)
	n, _ := io.ReadFull(f, head) // as above
	if !spanfile.Looks(head[:n]) {
		return nil, nothing, false, f.Close()
	}
	rest := io.MultiReader(newlines(head[:n]), &untilEnd{ctx: ctx, from: f})
	return rest, func() { _ = f.Close() }, true, nil
}

// oneTrace writes what --trace-id selects.
func (t *tracing) oneTrace(ctx context.Context) error {
	s, keep := session.New(session.Options{}), &collector{}
	into := []folder{s}
	if ofRecords(t.output) {
		into = append(into, keep)
	}
	pod, now, err := t.foldTrace(ctx, into)
	switch {
	case err != nil:
		return err
	case pod.IsZero():
		return userError{fmt.Errorf("no record of a pod has the trace %s", t.trace)}
	}
	ref := t.runIn(s, pod)
	return writeTo(t.to, t.s.out, func(w io.Writer) error {
		return asObject(w, t.form, func(w io.Writer) error {
			return t.withSeen(w, t.output, func(w io.Writer) error { return t.one(w, s, keep, now, []string{ref}) })
		})
	})
}

// runIn names the run of a pod that has the trace.
func (t *tracing) runIn(s *session.Session, pod trace.Pod) string {
	for _, l := range s.Runs() {
		has := func(r trace.Record) bool { return r.Trace == t.trace }
		if l.Pod == pod && slices.ContainsFunc(l.Records(), has) {
			return l.Ref()
		}
	}
	return pod.String()
}
