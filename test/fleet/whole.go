package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/kubeloupe/kubeloupe/inspect/export"
	"github.com/kubeloupe/kubeloupe/inspect/spanfile"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// parts are what each start has: the beginnings of names of spans, and what is drawn of them.
var (
	parts = []string{"sandbox", "create main", "start main"}
	drawn = []string{"sandbox", "create   main", "start    main"}
)

// whole says what is wrong with the trace of a pod's start; nil if it is whole.
func (r *received) whole(pod string) error {
	traces := r.pods[pod]
	if len(traces) != 1 {
		return fmt.Errorf("%s: %d roots, want 1: %v", pod, len(traces), traces)
	}
	t := r.traces[traces[0]]
	if outcome := t.root.Attributes.text("kubeloupe.start.outcome"); outcome != "ready" && outcome != "started" || t.root.Parent != "" || t.root.Attributes.has("kubeloupe.incomplete") {
		return fmt.Errorf("%s: the outcome %q, the parent %q, incomplete %t", pod, outcome, t.root.Parent, t.root.Attributes.has("kubeloupe.incomplete"))
	}
	if err := t.linked(); err != nil {
		return fmt.Errorf("%s: %w", pod, err)
	}
	missing := map[string]bool{}
	for _, p := range parts {
		missing[p] = true
	}
	for i := range t.spans {
		delete(missing, t.spans[i].Name)
	}
	if len(missing) > 0 {
		return fmt.Errorf("%s: no %v among %d spans", pod, missing, len(t.spans))
	}
	text, err := r.draw(traces[0])
	if err != nil {
		return fmt.Errorf("%s: %w", pod, err)
	}
	return isDrawn(pod, text)
}

// linked says which span of a start has no parent. A slow or failed sync after the start is a tree of its own in the same trace.
func (t *start) linked() error {
	ids := map[string]bool{}
	for i := range t.spans {
		ids[t.spans[i].ID] = true
	}
	for i := range t.spans {
		if s := &t.spans[i]; s.Parent == "" && s.ID != t.root.ID && !s.Attributes.has("kubeloupe.sent_because") || s.Parent != "" && !ids[s.Parent] {
			return fmt.Errorf("the span %q has the parent %q, which is not there", s.Name, s.Parent)
		}
	}
	return nil
}

// isDrawn says what a drawing lacks.
func isDrawn(pod, text string) error {
	for _, want := range append([]string{pod}, drawn...) {
		if !strings.Contains(text, want) {
			return fmt.Errorf("%s: no %q is drawn:\n%s", pod, want, text)
		}
	}
	return nil
}

// draw draws a trace as kubeloupe trace --trace-id does.
func (r *received) draw(id string) (string, error) {
	var in bytes.Buffer
	for _, n := range r.traces[id].lines {
		in.Write(r.lines[n])
	}
	var of trace.TraceID
	if err := of.UnmarshalText([]byte(id)); err != nil {
		return "", err
	}
	recs, lost, err := spanfile.Read(&in, of)
	if err != nil || lost > 0 {
		return "", fmt.Errorf("%d spans lost: %w", lost, err)
	}
	w, err := waterfall.Build(recs, recs[0].Pod)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	err = export.Text(&out, w, export.TextOptions{Width: 100, ASCII: true})
	return out.String(), err
}
