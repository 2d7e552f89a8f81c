package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"time"

	commonpb "go.opentelemetry.io/proto/otlp/common/v1"
)

// rootName is the name of a start's root.
const rootName = "pod start"

// attributes are those of OTLP's JSON.
type attributes []struct {
	Key   string
	Value struct {
		String string `json:"stringValue"`
		Bool   bool   `json:"boolValue"`
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

func (a attributes) has(key string) bool {
	for i := range a {
		if a[i].Key == key {
			return a[i].Value.Bool || a[i].Value.String != ""
		}
	}
	return false
}

// span is what is checked of a span.
type span struct {
	Trace      string `json:"traceId"`
	ID         string `json:"spanId"`
	Parent     string `json:"parentSpanId"`
	Name       string
	Start      string `json:"startTimeUnixNano"`
	Attributes attributes

	node string
}

// request is a line of the Collector's file.
type request struct {
	ResourceSpans []struct {
		Resource   struct{ Attributes attributes }
		ScopeSpans []struct{ Spans []span }
	}
}

// start is the trace of a start, as the Collector has it.
type start struct {
	root  *span
	spans []span // without doubles
	lines []int
}

// received is what the Collector has.
type received struct {
	lines  [][]byte
	traces map[string]*start
	pods   map[string][]string // traces with a root, by pod
	// of each node: spans, and those that came more than once.
	spans, doubles map[string]int
}

// read reads the Collector's file.
func read(file string) (*received, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	got := &received{traces: map[string]*start{}, pods: map[string][]string{}, spans: map[string]int{}, doubles: map[string]int{}}
	seen := map[string]bool{}
	for line := range bytes.Lines(text) {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break // it is being written
		}
		got.lines = append(got.lines, line)
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file, len(got.lines), err)
		}
		for _, rs := range r.ResourceSpans {
			node := rs.Resource.Attributes.text("k8s.node.name")
			for _, ss := range rs.ScopeSpans {
				for i := range ss.Spans {
					s := ss.Spans[i]
					if key := s.Trace + s.ID; seen[key] {
						got.doubles[node]++
					} else {
						seen[key] = true
						got.spans[node]++
						s.node = node
						got.add(s)
					}
				}
			}
		}
	}
	return got, nil
}

// add adds a span of the last line.
func (r *received) add(s span) {
	t := r.traces[s.Trace]
	if t == nil {
		t = &start{}
		r.traces[s.Trace] = t
	}
	if n := len(r.lines) - 1; len(t.lines) == 0 || t.lines[len(t.lines)-1] != n {
		t.lines = append(t.lines, n)
	}
	t.spans = append(t.spans, s)
	if s.Name == rootName && s.Attributes.text("kubeloupe.kind") == "pod.start" {
		root := s
		t.root = &root
		pod := s.Attributes.text("k8s.pod.name")
		r.pods[pod] = append(r.pods[pod], s.Trace)
	}
}

// late is how many of a node's spans since a time are of no start: those of the garbage collection, which runs each minute, and of syncs.
func (r *received) late(node string, since time.Time) (n int) {
	for _, t := range r.traces {
		for i := range t.spans {
			at, err := strconv.ParseInt(t.spans[i].Start, 10, 64)
			if t.root == nil && t.spans[i].node == node && err == nil && at > since.UnixNano() {
				n++
			}
		}
	}
	return n
}

// valueOf is the text of an attribute.
func valueOf(in []*commonpb.KeyValue, key string) string {
	for _, a := range in {
		if a.GetKey() == key {
			return a.GetValue().GetStringValue()
		}
	}
	return ""
}
