package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/lookup"
	"github.com/kubeloupe/kubeloupe/inspect/query"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/printer"
	"github.com/kubeloupe/kubeloupe/trace/say"
)

// listening is one run of the events command.
type listening struct {
	observed
	scope
	s      streams
	output string
	follow bool
	kinds  []string
	pod    string
	where  string
	since  sinceFlag
	tail   int
}

func newEvents(s streams) *cobra.Command {
	l := &listening{s: s}
	c := &cobra.Command{
		Use:     "events",
		Aliases: []string{"event", "ev"},
		Short:   "Print the events of an agent",
		Long: `Print the events of a running agent or of a recording: one line per important event, or every record as JSON. Without --follow,
the command prints the past events that the agent still keeps, and exits. docs/events.md describes all events.`,
		Example: `  kubeloupe events --follow
  kubeloupe events -n shop --since 5m
  kubeloupe events --follow --tail 20
  kubeloupe events --pod shop/cart-7d4f -o json
  kubeloupe events --from session.klr --kind cri.call --kind decision -o json | jq .event
  kubeloupe events --follow --where 'ns=shop dur>500ms err~"not found"'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return l.run(c.Context()) },
	}
	l.observed.add(c)
	f := c.Flags()
	l.scope.add(c, &l.observed)
	l.addSelector(c, &l.observed, "only events of pods")
	f.StringVarP(&l.output, "output", "o", "text", "text (one line per important event), wide (the same, not truncated) or json (every record)")
	f.BoolVarP(&l.follow, "follow", "f", false, "stream new events")
	f.BoolVarP(&l.follow, "watch", "w", false, "the same as --follow")
	l.since.add(c, "only events")
	f.IntVar(&l.tail, "tail", -1, "only the last `LINES` past events; -1 is all")
	f.StringArrayVar(&l.kinds, "kind", nil, "all events of this kind, such as cri.call, and only these; can be repeated")
	f.StringVar(&l.pod, "pod", "", "only events of this pod: NAMESPACE/POD, POD in the namespace of -n, or POD in every namespace")
	f.StringVar(&l.where, "where", "", "only events for which these `CONDITIONS` are true, for example 'method=PullImage dur>1s'; see docs/conditions.md")
	f.SortFlags = false
	must(c.RegisterFlagCompletionFunc("pod", podArgs(&l.observed, &l.scope, nil, 1)))
	must(c.RegisterFlagCompletionFunc("output", oneOf("text", "wide", "json")))
	return c
}

func (l *listening) run(ctx context.Context) error {
	if !slices.Contains([]string{"text", "wide", "json"}, l.output) {
		return userError{fmt.Errorf("--output %q: must be text, wide or json", l.output)}
	}
	for _, k := range l.kinds {
		if err := lookup.Check("kind", k, trace.Kinds()); err != nil {
			return userError{fmt.Errorf("--kind: %w", err)}
		}
	}
	if err := errors.Join(l.check(), l.since.check(), checkTail(l.tail)); err != nil {
		return userError{err}
	}
	if l.pod != "" {
		var err error
		if l.pod, err = l.scope.pod(l.pod); err != nil {
			return userError{err}
		}
	}
	of := query.NewRecords()
	where, err := query.Parse(l.where, of.Fields)
	if err != nil {
		return userError{fmt.Errorf("--where: %w", err)}
	}
	through := &sieve{kinds: l.kinds, pod: l.pod, scope: &l.scope, where: where, of: of, pods: map[trace.Pod]bool{}}
	if through.since, err = l.lookAhead(ctx); err != nil {
		return err
	}
	err = l.print(ctx, through, l.sink())
	if ctx.Err() != nil {
		return nil
	}
	if err == nil && l.pod != "" && !through.met {
		_, err = lookup.Pod(l.pod, maps.Keys(through.pods))
		return userError{err}
	}
	if err == nil && where != nil && l.output != "json" && len(l.kinds) == 0 && through.found > 0 && !through.lines {
		l.s.note(fmt.Sprintf("--where selects %d records, but none of them has a line: use -o json", through.found))
	}
	return err
}

// print prints what passes the sieve: with --tail, first the last of what there is, then what is new.
func (l *listening) print(ctx context.Context, through *sieve, sink printer.Sink) error {
	follow := l.follow && l.observed.from == ""
	src, closing, err := l.open(ctx, l.s.in, follow && l.tail < 0)
	if err != nil {
		return err
	}
	defer func() { closing() }()
	through.source = src
	if l.tail < 0 {
		return printer.Copy(ctx, through, sink)
	}
	if err := last(ctx, through, l.tail, l.output == "json" || len(l.kinds) > 0, sink); err != nil || !follow {
		return err
	}
	closing()
	if through.source, closing, err = l.open(ctx, l.s.in, true); err != nil {
		closing = func() {}
		return err
	}
	through.after = through.last
	return printer.Copy(ctx, through, sink)
}

// maxPods limits how many pods are remembered for an error.
const maxPods = 10_000

// sieve lets through what is wanted.
type sieve struct {
	source
	kinds []string
	pod   string // NAMESPACE/NAME or NAME; "" for all
	scope *scope
	where *query.Filter // nil for none
	of    *query.Records
	since time.Time          // of the oldest; zero for all
	last  uint64             // the number of the last record that was read
	after uint64             // those up to this number were there before
	met   bool               // there was a record of the pod
	pods  map[trace.Pod]bool // of the records
	found int                // how many records were let through
	lines bool               // one of them is worth a line
}

// Next implements source.
func (s *sieve) Next(ctx context.Context, buf []trace.Record) ([]trace.Record, uint64, error) {
	recs, lost, err := s.source.Next(ctx, buf)
	recs = slices.DeleteFunc(recs, func(r trace.Record) bool {
		s.scope.selection.Apply(&r)
		s.last = max(s.last, r.Seq)
		named := s.pod == "" || r.Pod.String() == s.pod || r.Pod.Name == s.pod
		s.met = s.met || named
		if len(s.pods) < maxPods {
			s.pods[r.Pod] = true
		}
		return len(s.kinds) > 0 && !slices.Contains(s.kinds, r.Event.Kind().String()) || !named || !s.scope.holds(r.Pod) ||
			s.where != nil && !s.where.Match(s.of.Row(&r)) || r.At().Before(s.since) || s.after > 0 && r.Seq <= s.after
	})
	s.found += len(recs)
	s.lines = s.lines || s.where != nil && slices.ContainsFunc(recs, func(r trace.Record) bool { return say.Line(&r) != "" })
	return recs, lost, err
}

// sink is where records are printed: all of them where their kind was named.
func (l *listening) sink() printer.Sink {
	if len(l.kinds) == 0 || l.output == "json" {
		return sinkFor(l.output, l.s.out)
	}
	opt := textOptions(l.output, l.s.out)
	opt.Every = true
	return printer.Text(textOut(l.s.out), opt)
}

func sinkFor(output string, w io.Writer) printer.Sink {
	if output == "json" {
		return printer.JSON(w)
	}
	return printer.Text(textOut(w), textOptions(output, w))
}

// textOptions are those of lines: on a terminal they have its width, and the time of day.
func textOptions(output string, w io.Writer) (o printer.TextOptions) {
	if isTerminal(w) {
		o.Clock, o.Width = time.Local, widthOf(w)
	}
	if output == "wide" {
		o.Width = -1
	}
	return o
}
