package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kubeloupe/kubeloupe/trace"
)

// selection is kubectl's --selector over the labels that records tell of pods. It is a folder: it learns them from the same records as
// the command. Without --selector it selects all, and learns nothing.
type selection struct {
	text    string
	wanted  labels.Selector
	answers map[trace.Pod]bool // of pods whose labels are known, with and without their UIDs
	unknown map[trace.Pod]bool // that were asked about
	known   bool               // one that was asked about is not among these
}

func (s *selection) add(c *cobra.Command, o *observed, what string) {
	c.Flags().StringVarP(&s.text, "selector", "l", "", what+" with these `LABELS`, as in kubectl: app=web, 'tier in (a,b)', '!canary'; those that the pods had when they were first seen")
	must(c.RegisterFlagCompletionFunc("selector", completeLabels(o)))
}

// given reports whether pods are selected.
func (s *selection) given() bool { return s.text != "" }

// check parses the selector.
func (s *selection) check() (err error) {
	if !s.given() {
		return nil
	}
	s.answers, s.unknown = map[trace.Pod]bool{}, map[trace.Pod]bool{}
	if s.wanted, err = labels.Parse(s.text, field.WithPath(field.NewPath("labels"))); err != nil {
		return fmt.Errorf("--selector: %w", err)
	}
	return nil
}

// with is what a command folds, and the selection where it has to learn.
func (s *selection) with(into ...folder) []folder {
	if s.given() {
		into = append(into, s)
	}
	return into
}

// Apply implements folder.
func (s *selection) Apply(r *trace.Record) {
	e, ok := r.Event.(*trace.Milestone)
	if !ok || e.Labels == nil || !s.given() || len(s.answers) > 2*maxPods {
		return
	}
	selected, known := s.match(e.Labels)
	for _, p := range []trace.Pod{r.Pod, {Namespace: r.Pod.Namespace, Name: r.Pod.Name}} {
		if delete(s.answers, p); known {
			s.answers[p] = selected
		}
	}
}

// Lost implements folder.
func (s *selection) Lost(uint64) {}

// match answers for a pod; not where the answer depends on a label that was omitted.
func (s *selection) match(l *trace.Labels) (selected, known bool) {
	requirements, _ := s.wanted.Requirements()
	set := labels.Set{}
	for _, r := range requirements {
		v, ok := l.Get(r.Key())
		if !ok && l.Clipped > 0 {
			return false, false
		}
		if ok {
			set[r.Key()] = v
		}
	}
	return s.wanted.Matches(set), true
}

// holds reports whether a pod is selected. It notes those of which that is not known.
func (s *selection) holds(p trace.Pod) bool {
	if !s.given() {
		return true
	}
	if p.Name == "" {
		return false
	}
	for _, key := range []trace.Pod{p, {Namespace: p.Namespace, Name: p.Name}} {
		if selected, ok := s.answers[key]; ok {
			s.known = true
			return selected
		}
	}
	if p.UID = ""; len(s.unknown) < maxPods {
		s.unknown[p] = true
	}
	return false
}

// learned says, once all pods were asked about, of which it is not known whether they are selected. The error is for the case that it is
// not known of any.
func (s *selection) learned(to streams) error {
	if len(s.unknown) == 0 {
		return nil
	}
	if !s.known {
		return userError{errors.New("--selector: no record has the labels of these pods: recordings of earlier versions and the logs of a kubelet do not have them; use --where or --namespace")}
	}
	var names []string
	for p := range maps.Keys(s.unknown) {
		names = append(names, p.String())
	}
	slices.Sort(names)
	text := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		text += fmt.Sprintf(" and %d more", len(names)-5)
	}
	to.note("--selector: no record has the labels of " + text + ": not selected")
	return nil
}

// completeLabels offers the labels of the pods, also after those that were typed.
func completeLabels(o *observed) completeFunc {
	return func(c *cobra.Command, _ []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndex(typed, ",")+1]
		var out []cobra.Completion
		for _, label := range o.lookNow(c.Context()).labelList() {
			if offer := before + label; strings.HasPrefix(offer, typed) {
				out = append(out, offer)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}
}
