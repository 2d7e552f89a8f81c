package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/compare"
	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/rank"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace"
)

// tracing is one run of the trace command.
type tracing struct {
	observed
	scope
	since  sinceFlag
	s      streams
	output string
	form   report.Format // of JSON
	to     string
	all    bool
	diff   bool
	by     string
	group  string
	top    int
	which  string         // --where
	where  *why.Condition // of which
	other  string         // --from of B
	// traceID is --trace-id, trace the same.
	traceID string
	trace   trace.TraceID
}

func traceFormats() []string {
	return []string{"text", "json", "svg", "html", "perfetto", "otlp", "otlp-json", "markdown"}
}

func newTrace(s streams) *cobra.Command {
	t := &tracing{s: s}
	c := &cobra.Command{
		Use:   "trace [[NAMESPACE/]POD [[NAMESPACE/]POD]]",
		Short: "Show how long each phase of a pod start took",
		Long: `Show how long each phase of a pod start took: the startup waterfall with its critical path. --diff compares two starts phase by
phase. --all ranks all starts of a session. The data comes from the running agent or from a recording (--from).

If a pod started more than once, NAMESPACE/POD is its latest start, NAMESPACE/POD#1 its first, and NAMESPACE/POD#2 its second. If
an agent found the pod running and adopted it, the command shows the start that an earlier agent recorded, if there is one.

` + scopeHelp,
		Example: `  kubeloupe trace shop/cart-7d4f
  kubeloupe trace -n shop cart-7d4f
  kubeloupe trace shop/cart-7d4f -o html --to cart.html
  kubeloupe trace --diff shop/cart-7d4f shop/cart-9x2k
  kubeloupe trace --all --from session.klr
  kubeloupe trace --all --where 'ns=shop wait.queue>500ms'
  kubeloupe trace --trace-id 4bf92f3577b34da6a3ce929d0e0e4736 --from spans.json
  kubeloupe trace --from session.klr -o perfetto --to session.pftrace   # the whole session`,
		Args: cobra.MaximumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error { return t.run(c.Context(), args) },
	}
	t.scope.add(c, &t.observed)
	t.addSelector(c, &t.observed, "with --all: only starts of pods")
	t.observed.add(c)
	f := c.Flags()
	f.StringVarP(&t.output, "output", "o", "text", formatList(traceFormats())+"; with --all also csv")
	f.StringVar(&t.to, "to", "", "write to this file instead of standard output")
	f.BoolVar(&t.all, "all", false, "rank all starts of the session, the slowest first")
	f.StringVar(&t.by, "by", "", "with --all: sort by started (the default), ready, floor, or a phase, such as pull, sandbox or \"wait queue\"")
	f.StringVar(&t.group, "group", "", "with --all: also print percentiles by image, namespace or source")
	f.IntVar(&t.top, "top", 0, "with --all: the number of starts to list; 0 lists all")
	f.StringVar(&t.which, "where", "", "with --all: only starts for which these `CONDITIONS` are true, for example 'ns=shop start>2s'; see docs/conditions.md")
	t.since.add(c, "with --all: only starts")
	f.BoolVar(&t.diff, "diff", false, "compare two starts phase by phase")
	f.StringVar(&t.other, "with", "", "with --diff: the recording of the second start, if it is not the same recording")
	f.StringVar(&t.traceID, "trace-id", "", "the start with this trace id, instead of POD; --from can then also be a tracing backend's export: the lines of an OpenTelemetry Collector's file exporter, Jaeger's or Tempo's JSON")
	f.SortFlags = false
	c.ValidArgsFunction = podArgs(&t.observed, &t.scope, nil, 2)
	must(c.RegisterFlagCompletionFunc("output", oneOf(append(traceFormats(), "csv", "yaml", "jsonpath=")...)))
	return c
}

func (t *tracing) check(args []string) error {
	formats := traceFormats()
	switch {
	case t.all && t.diff:
		return errors.New("--all and --diff cannot be used together")
	case t.all && len(args) > 0:
		return fmt.Errorf("--all selects every pod: remove the argument %q", args[0])
	case t.diff && len(args) != 2:
		return fmt.Errorf("--diff compares two starts: it needs NAMESPACE/POD twice, but got %d", len(args))
	case !t.diff && len(args) == 2:
		return errors.New("two pods need --diff, which compares them")
	case t.selection.given() && !t.all:
		return errors.New("--selector goes with --all")
	case t.other != "" && !t.diff:
		return errors.New("--with can only be used with --diff")
	case t.all:
		formats = []string{"text", "json", "csv"}
	case t.diff:
		formats = []string{"text", "json", "markdown"}
	case t.traceID != "":
	case len(args) == 0 && t.only() != "":
		return errors.New("--namespace needs a POD, --all or --diff")
	case len(args) == 0:
		formats = []string{"perfetto", "otlp", "otlp-json"}
		if !slices.Contains(formats, t.output) {
			return errors.New("trace needs NAMESPACE/POD or --all; only -o perfetto and -o otlp can write the whole session")
		}
	}
	if !slices.Contains(formats, t.output) {
		return fmt.Errorf("--output %q is not supported here: use %s", t.output, formatList(formats))
	}
	if !t.all && (t.by != "" || t.group != "" || t.top != 0) {
		return errors.New("--by, --group and --top can only be used with --all")
	}
	if !t.all && t.since.ago != 0 {
		return errors.New("--since can only be used with --all")
	}
	if t.top < 0 {
		return fmt.Errorf("--top %d: must be 0 or more", t.top)
	}
	if binary(t.output) && t.to == "" && isTerminal(t.s.out) {
		return fmt.Errorf("-o %s is binary: use --to FILE, or redirect standard output", t.output)
	}
	return nil
}

// ofRecords says which formats take records, not one pod's start.
func ofRecords(format string) bool { return binary(format) || format == "otlp-json" }

func binary(format string) bool { return format == "perfetto" || format == "otlp" }

func (t *tracing) run(ctx context.Context, args []string) error {
	var err error
	if t.output, t.form, err = objectFormat(t.output); err != nil {
		return userError{fmt.Errorf("--output: %w", err)}
	}
	if err = errors.Join(t.parseTrace(args), t.check(args), t.scope.check(), t.since.check()); err != nil {
		return userError{err}
	}
	if args, err = t.pods(args); err != nil {
		return userError{err}
	}
	if t.where, err = parseWhere(t.which, t.all); err != nil {
		return userError{err}
	}
	if t.traceID != "" {
		return t.oneTrace(ctx)
	}
	s := session.New(session.Options{})
	keep := &collector{}
	into := t.selection.with(s)
	if ofRecords(t.output) {
		into = append(into, keep)
	}
	now, err := t.fold(ctx, t.s.in, into...)
	if err != nil {
		return err
	}
	return writeTo(t.to, t.s.out, func(w io.Writer) error {
		return asObject(w, t.form, func(w io.Writer) error {
			return t.withSeen(w, t.output, func(w io.Writer) error { return t.write(ctx, w, s, keep, now, args) })
		})
	})
}

func (t *tracing) write(ctx context.Context, w io.Writer, s *session.Session, keep *collector, now time.Time, args []string) error {
	switch {
	case t.all:
		return t.rank(w, s, now)
	case t.diff:
		return t.compare(ctx, w, s, now, args)
	}
	return t.one(w, s, keep, now, args)
}

func (t *tracing) one(w io.Writer, s *session.Session, keep *collector, now time.Time, args []string) error {
	if ofRecords(t.output) {
		opt := export.Options{}
		if len(args) > 0 {
			l, err := s.Find(args[0])
			if err != nil {
				return userError{err}
			}
			opt.Pod = l.Pod
		}
		switch t.output {
		case "otlp":
			return export.OTLP(w, keep.recs, opt)
		case "otlp-json":
			return export.OTLPJSON(w, keep.recs, opt)
		}
		return export.Perfetto(w, keep.recs, opt)
	}
	l, f, err := t.fallOf(s, args[0], now)
	if err != nil {
		return err
	}
	switch t.output {
	case "json":
		return export.JSON(w, f)
	case "svg":
		return export.SVG(w, f)
	case "html":
		return export.HTML(w, f, cause.Find(s.Case(l, now)))
	case "markdown":
		return export.Markdown(w, f, cause.Find(s.Case(l, now)))
	}
	return export.Text(w, f, export.TextOptions{Width: widthOf(w), ASCII: asciiOnly(w), Color: colored(w)})
}

func (t *tracing) compare(ctx context.Context, w io.Writer, s *session.Session, now time.Time, args []string) error {
	_, a, err := t.fallOf(s, args[0], now)
	if err != nil {
		return err
	}
	if t.other != "" {
		other := observed{from: t.other}
		s = session.New(session.Options{})
		if now, err = other.fold(ctx, t.s.in, s); err != nil {
			return err
		}
	}
	_, b, err := t.fallOf(s, args[1], now)
	if err != nil {
		return err
	}
	d := compare.Diff(a, b)
	switch t.output {
	case "json":
		return compare.JSON(w, d)
	case "markdown":
		return compare.Markdown(w, d)
	}
	return compare.Text(textOut(w), d)
}

func (t *tracing) rank(w io.Writer, s *session.Session, now time.Time) error {
	var starts []rank.Start
	for _, l := range s.Runs() {
		if !t.holds(l.Pod) || !t.since.has(l, now) || t.where != nil && !t.where.Holds(why.Explain(s.Case(l, now))) {
			continue
		}
		if f, err := l.Waterfall(now); err == nil {
			starts = append(starts, rank.Of(f))
		}
	}
	if err := t.selection.learned(t.s); err != nil {
		return err
	}
	r, err := rank.Rank(starts, rank.Options{By: t.by, N: t.top, Group: t.group})
	if err != nil {
		return userError{err}
	}
	switch t.output {
	case "json":
		return rank.JSON(w, r)
	case "csv":
		return rank.CSV(w, r)
	}
	return rank.Text(textOut(w), r, widthOf(w))
}
