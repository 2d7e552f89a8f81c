package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"

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
	s      streams
	output string
	follow bool
	kinds  []string
	pod    string
	where  string
}

func newEvents(s streams) *cobra.Command {
	l := &listening{s: s}
	c := &cobra.Command{
		Use:   "events",
		Short: "Print the events of an agent",
		Long: `Print the events of a running agent or of a recording: one line per important event, or every record as JSON. Without --follow,
the command prints the past events that the agent still keeps, and exits. docs/events.md describes all events.`,
		Example: `  kubeloupe events --follow
  kubeloupe events --pod shop/cart-7d4f -o json
  kubeloupe events --from session.klr --kind cri.call --kind decision -o json | jq .event
  kubeloupe events --follow --where 'ns=shop dur>500ms err~"not found"'`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return l.run(c.Context()) },
	}
	l.add(c)
	f := c.Flags()
	f.StringVarP(&l.output, "output", "o", "text", "text (one line per important event), wide (the same, not truncated) or json (every record)")
	f.BoolVarP(&l.follow, "follow", "f", false, "stream new events")
	f.StringArrayVar(&l.kinds, "kind", nil, "only events of this kind, such as cri.call; can be repeated")
	f.StringVar(&l.pod, "pod", "", "only events of this pod, NAMESPACE/POD")
	f.StringVar(&l.where, "where", "", "only events for which these `CONDITIONS` are true, for example 'method=PullImage dur>1s'; see docs/conditions.md")
	f.SortFlags = false
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
	of := query.NewRecords()
	where, err := query.Parse(l.where, of.Fields)
	if err != nil {
		return userError{fmt.Errorf("--where: %w", err)}
	}
	src, closing, err := l.open(ctx, l.s.in, l.follow)
	if err != nil {
		return err
	}
	defer closing()
	through := &sieve{source: src, kinds: l.kinds, pod: l.pod, where: where, of: of, pods: map[trace.Pod]bool{}}
	err = printer.Copy(ctx, through, sinkFor(l.output, l.s.out))
	if ctx.Err() != nil {
		return nil
	}
	if err == nil && l.pod != "" && !through.met {
		_, err = lookup.Pod(l.pod, maps.Keys(through.pods))
		return userError{err}
	}
	if err == nil && where != nil && l.output != "json" && through.found > 0 && !through.lines {
		l.s.note(fmt.Sprintf("--where selects %d records, but none of them has a line: use -o json", through.found))
	}
	return err
}

// maxPods limits how many pods are remembered for an error.
const maxPods = 10_000

// sieve lets through what is wanted.
type sieve struct {
	source
	kinds []string
	pod   string
	where *query.Filter // nil for none
	of    *query.Records
	met   bool               // there was a record of the pod
	pods  map[trace.Pod]bool // of the records
	found int                // how many records were let through
	lines bool               // one of them is worth a line
}

// Next implements source.
func (s *sieve) Next(ctx context.Context, buf []trace.Record) ([]trace.Record, uint64, error) {
	recs, lost, err := s.source.Next(ctx, buf)
	recs = slices.DeleteFunc(recs, func(r trace.Record) bool {
		s.met = s.met || r.Pod.String() == s.pod
		if len(s.pods) < maxPods {
			s.pods[r.Pod] = true
		}
		return len(s.kinds) > 0 && !slices.Contains(s.kinds, r.Event.Kind().String()) || s.pod != "" && r.Pod.String() != s.pod ||
			s.where != nil && !s.where.Match(s.of.Row(&r))
	})
	s.found += len(recs)
	s.lines = s.lines || s.where != nil && slices.ContainsFunc(recs, func(r trace.Record) bool { return say.Line(&r) != "" })
	return recs, lost, err
}

func sinkFor(output string, w io.Writer) printer.Sink {
	switch output {
	case "json":
		return printer.JSON(w)
	case "wide":
		return printer.Text(textOut(w), printer.TextOptions{Width: -1})
	}
	return printer.Text(textOut(w), printer.TextOptions{})
}
