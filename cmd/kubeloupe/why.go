package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/attach/bundle"
	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/inspect/session"
	"github.com/kubeloupe/kubeloupe/inspect/store"
	"github.com/kubeloupe/kubeloupe/inspect/why"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// exitHeld is the exit code when a condition of --fail-on holds.
const exitHeld = 3

// heldError says which conditions of --fail-on hold.
type heldError struct{ text string }

func (e heldError) Error() string { return e.text }

// asking is one run of the why command.
type asking struct {
	observed
	scope
	s      streams
	output string
	form   report.Format // of JSON
	short  bool
	pager  pager
	all    bool
	failOn []string
	where  string
	since  sinceFlag
	tail   int
}

func newWhy(s streams) *cobra.Command {
	a := &asking{s: s}
	c := &cobra.Command{
		Use:   "why [NAMESPACE/]POD | node",
		Short: "Explain slow or failed pod starts, or the node's state",
		Long: `Explain why a pod start was slow or failed. The output has the phases of the start, its waits, its critical path, the time that the
container runtime itself needed (the floor), the time that is unexplained, and the causes with their evidence. If the pod has not
started, the output also shows what it is waiting for, since when, and what happens next.

"why node" explains why the node is not Ready, under pressure or slow: the agent's state, the container runtime and its network, the
API server, the lease, the certificates, the conditions, and the syncLoop. A pod with the name node is NAMESPACE/node, or node with -n.

Use --fail-on as a check in CI: the command exits with status ` + fmt.Sprint(exitHeld) + ` if a condition is true. A condition is one of these:

  KL05               this cause was found
  any                any cause was found
  start>2s           a comparison: start, ready, floor, unexplained, wait or wait.KIND (such as wait.queue), then >, >=, < or <=,
                     then a duration
  unexplained>2%     the share of the start that is unexplained

A condition can have several parts, which must all be true. "!" negates a part: 'ns=shop start>2s !KL05'. docs/conditions.md has
the whole grammar.

` + scopeHelp,
		Example: `  kubeloupe why shop/cart-7d4f
  kubeloupe why -n shop cart-7d4f
  kubeloupe why shop/cart-7d4f --fail-on 'start>2s' --fail-on KL05
  kubeloupe why node
  kubeloupe why --all --where 'ns=shop !ready'
  kubeloupe why --all --from session.klr --fail-on 'unexplained>2%'`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error { return a.run(c.Context(), args) },
	}
	a.scope.add(c, &a.observed)
	a.addSelector(c, &a.observed, "with --all: only starts of pods")
	a.observed.add(c)
	f := c.Flags()
	f.StringVarP(&a.output, "output", "o", "text", formatList([]string{"text", "json"}))
	f.BoolVar(&a.short, "short", false, "three lines: what, why, and the remedy or what happens next")
	a.pager.add(f)
	f.BoolVar(&a.all, "all", false, "explain all starts of the session, one line each")
	f.StringArrayVar(&a.failOn, "fail-on", nil, "exit with status "+fmt.Sprint(exitHeld)+" if this condition is true, such as start>2s or KL05; can be repeated")
	f.StringVar(&a.where, "where", "", "with --all: only starts for which these `CONDITIONS` are true, for example 'ns=shop start>2s'; see docs/conditions.md")
	a.since.add(c, "with --all: only starts")
	f.IntVar(&a.tail, "tail", -1, "with --all: only the last `STARTS`; -1 is all")
	f.SortFlags = false
	c.ValidArgsFunction = podArgs(&a.observed, &a.scope, nil, 1, nodeArg)
	must(c.RegisterFlagCompletionFunc("output", oneOf("text", "json", "yaml", "jsonpath=")))
	return c
}

func (a *asking) run(ctx context.Context, args []string) error {
	var err error
	if a.output, a.form, err = objectFormat(a.output); err != nil {
		return userError{fmt.Errorf("--output: %w", err)}
	}
	if formats := []string{"text", "json"}; !slices.Contains(formats, a.output) {
		return userError{fmt.Errorf("--output %q: must be one of %s", a.output, formatList(formats))}
	}
	if a.short && (a.all || a.output == "json") {
		return userError{errors.New("--short is for the text of one pod or of the node: --all has one line for each pod, and -o json has everything")}
	}
	if a.all && len(args) > 0 {
		return userError{fmt.Errorf("--all selects every pod: remove the argument %q", args[0])}
	}
	if !a.all && a.selection.given() {
		return userError{errors.New("--selector goes with --all")}
	}
	if a.all == (len(args) == 1) {
		return userError{errors.New("why needs NAMESPACE/POD, node or --all")}
	}
	if err := errors.Join(a.check(), a.recent()); err != nil {
		return userError{err}
	}
	if args, err = a.pods(args); err != nil {
		return userError{err}
	}
	var conditions []why.Condition
	for _, text := range a.failOn {
		c, err := why.ParseFailOn(text)
		if err != nil {
			return userError{fmt.Errorf("--fail-on: %w", err)}
		}
		conditions = append(conditions, c)
	}
	only, err := parseWhere(a.where, a.all)
	if err != nil {
		return userError{err}
	}
	if !a.all && args[0] == nodeArg {
		return a.ofNode(ctx, conditions)
	}
	s := session.New(session.Options{})
	now, err := a.fold(ctx, a.s.in, a.selection.with(s)...)
	if err != nil {
		return err
	}
	cases := s.Cases(now)
	if !a.all {
		l, err := a.life(s, args[0], now)
		if err != nil {
			return err
		}
		cases = func(yield func(*store.PodRun, *cause.Case) bool) { yield(l, s.Case(l, now)) }
	}
	return a.tell(cases, now, a.node(s, now), only, conditions)
}

// recent checks --since and --tail.
func (a *asking) recent() error {
	switch {
	case !a.all && a.since.ago != 0:
		return errors.New("--since can only be used with --all")
	case !a.all && a.tail >= 0:
		return errors.New("--tail can only be used with --all")
	}
	return errors.Join(a.since.check(), checkTail(a.tail))
}

// node is what is wrong with the node, as the log of a kubelet tells it beside the pods; nil where nothing is, or where there is no such log.
func (a *asking) node(s *session.Session, now time.Time) *why.Report {
	if !a.all || a.log == nil {
		return nil
	}
	return why.ExplainNode(s.NodeCase(time.Time{}, now))
}

// parseWhere reads --where; nil when it was not given.
func parseWhere(text string, all bool) (*why.Condition, error) {
	if text == "" {
		return nil, nil
	}
	if !all {
		return nil, errors.New("--where goes with --all")
	}
	c, err := why.ParseWhere(text)
	if err != nil {
		return nil, fmt.Errorf("--where: %w", err)
	}
	return &c, nil
}

// tell explains each life that the flags select, and returns an error that names the conditions that hold.
func (a *asking) tell(cases iter.Seq2[*store.PodRun, *cause.Case], now time.Time, node *why.Report, only *why.Condition, conditions []why.Condition) error {
	var held []string
	reports, pods := []*why.Report{}, []string{}
	for l, r := range why.All(cases) {
		if !a.holds(l.Pod) || !a.since.has(l, now) || only != nil && !only.Holds(r) {
			continue
		}
		reports, pods = append(reports, r), append(pods, l.Pod.String())
	}
	if a.tail >= 0 && len(reports) > a.tail {
		reports, pods = reports[len(reports)-a.tail:], pods[len(pods)-a.tail:]
	}
	for i, r := range reports {
		held = append(held, heldIn(r, pods[i], conditions)...)
	}
	if node != nil && only == nil && a.only() == "" && !a.selection.given() {
		reports = slices.Insert(reports, 0, node)
		held = append(heldIn(node, "the node", conditions), held...)
	}
	if err := a.selection.learned(a.s); err != nil {
		return err
	}
	if err := asObject(a.s.out, a.form, func(w io.Writer) error { return a.write(w, reports) }); err != nil {
		return err
	}
	return heldBy(held)
}

// heldIn are the conditions that hold of a report, each with what it is about.
func heldIn(r *why.Report, about string, conditions []why.Condition) (held []string) {
	for _, c := range conditions {
		if c.Holds(r) {
			held = append(held, about+": "+c.Told(r))
		}
	}
	return held
}

// heldBy is the error that names the conditions that hold; nil if there are none.
func heldBy(held []string) error {
	if len(held) == 0 {
		return nil
	}
	return heldError{"condition of --fail-on is true: " + strings.Join(held, "; ")}
}

// textOptions are those of the terminal.
func (a *asking) textOptions() why.TextOptions {
	return why.TextOptions{Width: widthOf(a.s.out), Height: heightOf(a.s.out), Zone: time.Local}
}

func (a *asking) write(w io.Writer, reports []*why.Report) error {
	if a.output == "json" {
		if a.log != nil {
			seen := bundle.SeenBy(a.log.Told())
			for _, r := range reports {
				r.SeenBy = seen
			}
		}
		enc := json.NewEncoder(human.Writer(w))
		enc.SetIndent("", "  ")
		if a.all {
			return enc.Encode(reports)
		}
		return enc.Encode(reports[0])
	}
	return a.pager.show(a.s, func(to io.Writer) error { return a.text(to, reports) })
}

// text writes the reports for people.
func (a *asking) text(to io.Writer, reports []*why.Report) error {
	out := human.Writer(to)
	mentioned := ""
	if a.all && a.log != nil {
		mentioned = why.Mentioned(reports)
	}
	for _, r := range reports {
		if mentioned != "" && r.Stage == cause.Unknown {
			continue
		}
		if a.all {
			if _, err := io.WriteString(out, why.Brief(r)+"\n"); err != nil {
				return err
			}
			continue
		}
		if a.short {
			return why.Short(out, r)
		}
		if err := why.Text(out, r, a.textOptions()); err != nil {
			return err
		}
	}
	if mentioned != "" {
		if _, err := io.WriteString(out, mentioned+"\n"); err != nil {
			return err
		}
	}
	if a.all && a.log != nil && !slices.ContainsFunc(reports, func(r *why.Report) bool { return !r.Node }) {
		if _, err := io.WriteString(out, a.noPods()); err != nil {
			return err
		}
	}
	_, err := io.WriteString(out, a.seenBy())
	return err
}
