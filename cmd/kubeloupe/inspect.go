package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/report"
)

// looking is one run of the inspect command.
type looking struct {
	observed
	scope
	s      streams
	output string
	follow bool
	since  sinceFlag
}

func newInspect(s streams) *cobra.Command {
	l := &looking{s: s}
	var subjects []string
	var offered []cobra.Completion
	long := "Show one part of the state of a running agent or of a recording. SUBJECT is one of:\n\n"
	for _, sub := range report.Subjects() {
		subjects = append(subjects, sub.Name)
		offered = append(offered, cobra.CompletionWithDesc(sub.Name, sub.About))
		live := ""
		if sub.Live {
			live = " (running agent only)"
		}
		name := strings.Join(append([]string{sub.Name}, sub.Short...), ", ")
		long += fmt.Sprintf("  %-21s %s%s\n", name, sub.About, live)
	}
	c := &cobra.Command{
		Use:   "inspect SUBJECT [[NAMESPACE/]POD]",
		Short: "Show one part of an agent's state as a table, JSON or YAML",
		Long:  long + "\n" + scopeHelp,
		Example: `  kubeloupe inspect pods
  kubeloupe inspect po -n shop
  kubeloupe inspect pod shop/cart-7d4f
  kubeloupe inspect pods -l app=web --watch
  kubeloupe inspect cri --from session.klr -o json
  kubeloupe inspect cgroup shop/cart-7d4f -o yaml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("inspect needs a subject: one of %s", strings.Join(subjects, ", "))
			}
			if _, err := report.Lookup(args[0]); err != nil || len(args) <= 2 {
				return err
			}
			return fmt.Errorf("inspect takes one subject and at most one pod: remove %q", args[2])
		},
		RunE: func(c *cobra.Command, args []string) error { return l.run(c.Context(), args) },
	}
	l.scope.add(c, &l.observed)
	l.addSelector(c, &l.observed, "only pods, and what is of pods,")
	l.observed.add(c)
	c.Flags().StringVarP(&l.output, "output", "o", "table", report.FormatNames+", with kubectl's JSONPath")
	c.Flags().BoolVarP(&l.follow, "watch", "w", false, "print the list, then its rows that change, until Ctrl-C or until the agent stops: pods, workers and volumes")
	l.since.add(c, "only pods that were first seen")
	c.ValidArgsFunction = podArgs(&l.observed, &l.scope, offered, 2)
	must(c.RegisterFlagCompletionFunc("output", oneOf("table", "wide", "name", "json", "yaml", "jsonpath=")))
	c.Flags().SortFlags = false
	return c
}

func (l *looking) run(ctx context.Context, args []string) error {
	format, err := report.ParseFormat(l.output)
	if err != nil {
		return userError{fmt.Errorf("--output: %w", err)}
	}
	subject, err := report.Lookup(args[0])
	if err != nil {
		return userError{err}
	}
	if err := subject.Accepts(format); err != nil {
		return userError{fmt.Errorf("--output: %w", err)}
	}
	if l.follow {
		if err := l.canWatch(&subject); err != nil {
			return userError{err}
		}
	}
	a := report.Args{Namespace: l.only()}
	if err := errors.Join(l.check(), l.since.check(), l.canSince(&subject, args)); err != nil {
		return userError{err}
	}
	if l.selection.given() {
		a.Selects, a.Labels = l.selection.holds, l.selection.text
	}
	if len(args) == 2 {
		if args[1], err = l.pod(args[1]); err != nil {
			return userError{err}
		}
	}
	if l.from != "" && subject.Live {
		return userError{notRecorded(subject.Name)}
	}
	m := model.New(model.Options{})
	if l.follow {
		w := &watching{looking: l, subject: subject, args: a, model: m, print: report.NewWatch(l.text(format), format, l.width())}
		if len(args) == 2 {
			w.named = args[1]
		}
		return l.watch(ctx, w)
	}
	if a.Now, err = l.fold(ctx, l.s.in, l.selection.with(m)...); err != nil {
		return err
	}
	a.Since = l.since.from(a.Now)
	if len(args) == 2 {
		if a.Pod, err = subject.Find(m, args[1]); err != nil {
			return userError{err}
		}
	}
	if subject.Live {
		if a.Live, err = l.ask(ctx, subject.Name, a.Pod); err != nil {
			return err
		}
	}
	t, err := report.Make(subject.Name, m, a)
	if err != nil {
		return userError{err}
	}
	if err := l.selection.learned(l.s); err != nil {
		return err
	}
	return l.withSeen(l.text(format), string(format), func(w io.Writer) error { return report.Write(w, t, format, l.width()) })
}

// canSince says whether --since can be used.
func (l *looking) canSince(subject *report.Subject, args []string) error {
	switch {
	case l.since.ago == 0:
		return nil
	case !subject.Since:
		return fmt.Errorf("inspect %s is not a list of pods by their time: remove --since", subject.Name)
	case len(args) == 2:
		return errors.New("--since cannot be used with the name of a pod")
	case l.follow:
		return errors.New("--since and --watch cannot be used together")
	}
	return nil
}

// width is the terminal's; nothing is cut in a pipe.
func (l *looking) width() int {
	if !isTerminal(l.s.out) {
		return 0
	}
	return widthOf(l.s.out)
}

// text is the output for a format.
func (l *looking) text(format report.Format) io.Writer {
	if format == report.Text || format == report.Wide {
		return textOut(l.s.out)
	}
	return l.s.out
}

// ask asks the agent for what its stream does not tell.
func (l *looking) ask(ctx context.Context, subject, pod string) (json.RawMessage, error) {
	c, err := l.dial(ctx)
	if err != nil {
		return nil, err
	}
	args := map[string]string{}
	if pod != "" {
		args["pod"] = pod
	}
	return c.Query(ctx, subject, args)
}

// notRecorded says what to do for an answer that records do not hold.
func notRecorded(subject string) error {
	text := "inspect " + subject + " --from: a recording does not contain this; use a running agent: kubeloupe inspect " + subject + " --socket PATH"
	if subject == "images" {
		text += "; inspect gc --from shows the decisions of image garbage collection"
	}
	return errors.New(text)
}
