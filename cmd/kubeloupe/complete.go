package main

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/sorting"
	"github.com/kubeloupe/kubeloupe/tui"
)

// completeTime is how long completion may ask an agent, or read a file. A shell waits for it.
const completeTime = time.Second

// maxCompleted limits how many names are offered.
const maxCompleted = 1000

// podSet are the pods of a stream. Others use it while it is read.
type podSet struct {
	mu     sync.Mutex
	pods   map[trace.Pod]bool // without UIDs
	labels map[string]bool    // as KEY=VALUE
}

func newPodSet() *podSet { return &podSet{pods: map[trace.Pod]bool{}, labels: map[string]bool{}} }

// Apply implements folder.
func (p *podSet) Apply(r *trace.Record) {
	if r.Pod.Name == "" {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.pods) < maxPods {
		p.pods[trace.Pod{Namespace: r.Pod.Namespace, Name: r.Pod.Name}] = true
	}
	if e, ok := r.Event.(*trace.Milestone); ok && e.Labels != nil {
		for _, l := range e.Labels.Items {
			if len(p.labels) < maxCompleted {
				p.labels[l.K+"="+l.V] = true
			}
		}
	}
}

// Lost implements folder.
func (p *podSet) Lost(uint64) {}

func (p *podSet) list() []trace.Pod {
	p.mu.Lock()
	defer p.mu.Unlock()
	var out []trace.Pod
	for pod := range p.pods {
		out = append(out, pod)
	}
	sorting.Stable(out, func(a, b *trace.Pod) int { return strings.Compare(a.String(), b.String()) })
	return out
}

func (p *podSet) labelList() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Sorted(maps.Keys(p.labels))
}

// podsNow are the pods that a command could be about.
func (o *observed) podsNow(ctx context.Context) []trace.Pod { return o.lookNow(ctx).list() }

// lookNow finds the pods that a command could be about, as many as are found in completeTime: an agent that is stuck, or a file that
// cannot be read, is not waited for.
func (o *observed) lookNow(ctx context.Context) *podSet {
	found := newPodSet()
	if o.from == "-" {
		return found
	}
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	own := *o // the reader is left when it takes too long
	own.more = nil
	for _, file := range o.more { // cobra reads the flags twice
		if file != own.from && !slices.Contains(own.more, file) {
			own.more = append(own.more, file)
		}
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = own.fold(ctx, nil, found) // without an agent there is nothing to offer
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
	return found
}

// completePods offers pods that begin with what was typed: NAME in the namespace of -n; else NAMESPACE/NAME, and NAME where that is
// enough to find the pod.
func completePods(pods []trace.Pod, namespace, typed string) []cobra.Completion {
	count := map[string]int{}
	for _, p := range pods {
		count[p.Name]++
	}
	var out []cobra.Completion
	for _, p := range pods {
		names := []string{p.String()}
		switch {
		case namespace != "" && p.Namespace != namespace:
			continue
		case namespace != "" && !strings.Contains(typed, "/"):
			names = []string{p.Name}
		case namespace == "" && typed != "" && count[p.Name] == 1:
			names = append(names, p.Name)
		}
		for _, name := range names {
			if strings.HasPrefix(name, typed) && len(out) < maxCompleted {
				out = append(out, name)
			}
		}
	}
	return out
}

// completeFunc is what cobra asks for completions.
type completeFunc = func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective)

// podArgs completes pods, most of them, after the arguments in front of them, which are themselves from first.
func podArgs(o *observed, s *scope, first []string, most int, also ...string) completeFunc {
	return func(c *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if first != nil && len(args) == 0 {
			return first, cobra.ShellCompDirectiveNoFileComp
		}
		if len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return append(completePods(o.podsNow(c.Context()), s.only(), typed), also...), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespaces offers the namespaces of the pods.
func completeNamespaces(o *observed) completeFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var out []cobra.Completion
		for _, p := range o.podsNow(c.Context()) {
			if !slices.Contains(out, p.Namespace) && len(out) < maxCompleted {
				out = append(out, p.Namespace)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}

// oneOf offers fixed words.
func oneOf(words ...string) completeFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeCauses offers the IDs of the causes with their names.
func completeCauses(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	out := []cobra.Completion{cobra.CompletionWithDesc("any", "any cause")}
	for _, r := range cause.Rules() {
		out = append(out, cobra.CompletionWithDesc(r.ID, r.Name))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeFlags completes the flags that have the same values in every command, and offers files only where a command takes one.
func completeFlags(root *cobra.Command) {
	completeFlagsBelow(root, map[string]completeFunc{
		"view":    oneOf(tui.ViewNames()...),
		"theme":   oneOf(tui.Themes()...),
		"kind":    oneOf(trace.Kinds()...),
		"fail-on": completeCauses,
		"group":   oneOf("image", "namespace", "source"),
	})
}

func completeFlagsBelow(c *cobra.Command, shared map[string]completeFunc) {
	for name, f := range shared {
		if c.Flags().Lookup(name) != nil {
			_ = c.RegisterFlagCompletionFunc(name, f) // a command that has its own keeps it
		}
	}
	if c.ValidArgsFunction == nil && c.ValidArgs == nil && c.Args != nil && c.Args(c, []string{"x"}) != nil && !c.HasSubCommands() {
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range c.Commands() {
		completeFlagsBelow(sub, shared)
	}
}
