package main

import (
	"fmt"
	"os"
	"path/filepath"

	"go.opentelemetry.io/collector/pdata/ptrace"
)

// read decodes a file and checks what the decoder does not.
func read(name string) ([]string, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var td ptrace.Traces
	if filepath.Ext(name) == ".json" {
		td, err = (&ptrace.JSONUnmarshaler{}).UnmarshalTraces(raw)
	} else {
		td, err = (&ptrace.ProtoUnmarshaler{}).UnmarshalTraces(raw)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	lines, err := check(td)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return lines, nil
}

// check holds the traces against OpenTelemetry's rules: each resource names its service; each span has ids and a
// name of its own, ends no sooner than it starts, and has a parent that is there and of its trace, or none.
func check(td ptrace.Traces) ([]string, error) {
	var lines []string
	seen := map[[8]byte]ptrace.Span{}
	var all []ptrace.Span
	for _, rs := range td.ResourceSpans().All() {
		service, ok := rs.Resource().Attributes().Get("service.name")
		if !ok || service.Str() == "" {
			return nil, fmt.Errorf("a resource without service.name")
		}
		pod, _ := rs.Resource().Attributes().Get("k8s.pod.name")
		n, failed, events := 0, 0, 0
		for _, ss := range rs.ScopeSpans().All() {
			for _, sp := range ss.Spans().All() {
				n, events = n+1, events+sp.Events().Len()
				if sp.Status().Code() == ptrace.StatusCodeError {
					failed++
				}
				if _, twice := seen[sp.SpanID()]; twice || sp.SpanID().IsEmpty() || sp.TraceID().IsEmpty() || sp.Name() == "" {
					return nil, fmt.Errorf("span %q: id %s of trace %s is empty or taken", sp.Name(), sp.SpanID(), sp.TraceID())
				}
				if sp.EndTimestamp() < sp.StartTimestamp() || sp.StartTimestamp() == 0 {
					return nil, fmt.Errorf("span %q: from %s to %s", sp.Name(), sp.StartTimestamp(), sp.EndTimestamp())
				}
				seen[sp.SpanID()] = sp
				all = append(all, sp)
			}
		}
		lines = append(lines, fmt.Sprintf("%s %s: %d spans, %d events, %d failed", service.Str(), pod.Str(), n, events, failed))
	}
	for _, sp := range all {
		if sp.ParentSpanID().IsEmpty() {
			continue
		}
		up, ok := seen[sp.ParentSpanID()]
		if !ok || up.TraceID() != sp.TraceID() {
			return nil, fmt.Errorf("span %q: its parent %s is not in its trace", sp.Name(), sp.ParentSpanID())
		}
	}
	return lines, nil
}
