package stack

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"
)

// request is what is read of a line of the Collector's file: OTLP as JSON.
type request struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes attributes }
		ScopeSpans []struct{ Spans []span }
	}
}

type span struct {
	Trace      string `json:"traceId"`
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string
	Attributes attributes
}

type attributes []struct {
	Key   string
	Value struct {
		String string `json:"stringValue"`
	}
}

func (a attributes) text(key string) string {
	for i := range a {
		if a[i].Key == key {
			return a[i].Value.String
		}
	}
	return ""
}

// received is what the Collector has.
type received struct {
	text   string
	traces map[string][]span // spans, by trace
	pods   map[string]string // the trace of a start, by pod
}

// received reads the Collector's file, as docs/fleet.md does.
func (b *bench) received(t *testing.T) (*received, error) {
	t.Helper()
	r := &received{traces: map[string][]span{}, pods: map[string]string{}}
	var err error
	if r.text, err = b.Kubectl(t.Context(), "exec", "-n", namespace, "deploy/collector", "-c", "files", "--", "cat", "/spans/spans.json"); err != nil {
		return nil, fmt.Errorf("the Collector's file: %w: %s", err, r.text)
	}
	for line := range strings.Lines(r.text) {
		var q request
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			return nil, fmt.Errorf("a line of the Collector's file: %w: %.200s", err, line)
		}
		for _, rs := range q.ResourceSpans {
			for _, ss := range rs.ScopeSpans {
				for _, s := range ss.Spans {
					r.traces[s.Trace] = append(r.traces[s.Trace], s)
					if s.Name == "pod start" && s.Parent == "" {
						r.pods[s.Attributes.text("k8s.pod.name")] = s.Trace
					}
				}
			}
		}
	}
	return r, nil
}

// arrive waits until the Collector has the starts of pods, whole.
func (b *bench) arrive(t *testing.T, pods []string) *received {
	t.Helper()
	var got *received
	eventually(t, "starts in the Collector's file", func() string {
		var err error
		if got, err = b.received(t); err != nil {
			return err.Error()
		}
		for _, pod := range pods {
			if got.pods[pod] == "" {
				return pod + " is missing"
			}
		}
		return ""
	})
	n := 0
	for _, pod := range pods {
		spans := got.traces[got.pods[pod]]
		n += len(spans)
		ids, names := map[string]bool{"": true}, map[string]bool{}
		for i := range spans {
			ids[spans[i].ID], names[spans[i].Name] = true, true
		}
		for i := range spans {
			if !ids[spans[i].Parent] {
				t.Errorf("%s: the span %q has a parent that is not there", pod, spans[i].Name)
			}
		}
		for _, want := range []string{"sandbox", "create " + pod, "start " + pod} {
			if !names[want] {
				t.Errorf("%s: no span %q among %d", pod, want, len(spans))
			}
		}
	}
	t.Logf("the Collector's file has the starts of %v, with %d spans", pods, n)
	return got
}

// drawn draws a trace from a file's text by the program, and checks that it is the start of a pod.
func (b *bench) drawn(t *testing.T, text, id, pod string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), b.Binary, "trace", "--trace-id", id, "--from", "-")
	cmd.Stdin = strings.NewReader(text)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("kubeloupe trace --trace-id %s: %v: %s", id, err, out)
	}
	for _, want := range []string{"default/" + pod, "sandbox", "start    " + pod} {
		if !strings.Contains(string(out), want) {
			t.Errorf("no %q in the drawing of %s:\n%s", want, id, out)
		}
	}
	return string(out)
}
