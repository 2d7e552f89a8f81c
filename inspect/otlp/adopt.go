package otlp

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// The limits of what is adopted.
const (
	maxAnchors  = 256              // that wait for their call
	anchorTime  = 15 * time.Second // how long they wait: records of calls come some seconds late
	anchorClose = 20 * time.Millisecond
	criSpan     = "runtime.v1."
)

// adopter places spans of calls that another observer than the caller saw, such as containerd's log: these know no ids of spans. The spans
// themselves say which calls they are (runtime.v1.RuntimeService/METHOD); which one of them is told by the ids of sandbox and container in
// them, else by both ends of the call, where only one call can be meant.
type adopter struct {
	anchors []anchor // that wait for their call, the oldest first
	ended   bool     // a call has, since they were looked at
}

type anchor struct {
	span
	until time.Time
}

// mutating are the calls that are written down by observers; List calls and the like are not, so their spans wait for nothing.
var mutating = []string{
	"RunPodSandbox", "StopPodSandbox", "RemovePodSandbox", "CreateContainer", "StartContainer", "StopContainer", "RemoveContainer", "PullImage",
}

// methodOf is the call that a span is the runtime's or its client's view of; "" for other spans.
func methodOf(s *span) string {
	if !strings.HasPrefix(s.event.Name, criSpan) {
		return ""
	}
	return s.event.Name[strings.LastIndexByte(s.event.Name, '/')+1:]
}

// noteCall takes in what a record of another observer tells of a call.
func (c *call) note(r *trace.Record, e *trace.CRICall) {
	c.method = e.Method
	if r.Pod.Name != "" {
		c.pod, c.trace = r.Pod, r.Trace
	}
	if e.Sandbox != "" {
		c.sandbox = e.Sandbox
	}
	if e.Container != "" {
		c.container = e.Container
	}
}

// adopt is add for spans of other callers than us.
func (t *tree) adopt(s span) (ready []span, v verdict, refused []verdict) {
	if _, again := t.told.get(s.key()); again || t.waiting.ids[s.key()] {
		return nil, repeated, nil
	}
	method := methodOf(&s)
	c, _ := t.told.get(key{s.trace, s.parent})
	switch {
	case c != nil:
	case method == "" && s.parent == 0:
		t.forsake(s.key(), 0)
		return nil, foreign, nil
	case method == "":
		t.waiting.hold(s)
		return nil, held, nil
	case !slices.Contains(mutating, method):
		t.forsake(s.key(), 0)
		return nil, foreign, nil
	default:
		if c = t.meant(&s, method); c == nil {
			t.adopter.wait(anchor{s, t.now().Add(anchorTime)})
			return nil, held, nil
		}
		s.parent = c.span
	}
	return t.below(s, c)
}

// wait has a span wait for its call; the oldest goes where there are too many.
func (a *adopter) wait(s anchor) {
	if len(a.anchors) >= maxAnchors {
		a.anchors = a.anchors[1:]
	}
	a.anchors = append(a.anchors, s)
}

// retry looks again for the calls of spans that wait.
func (t *tree) retry() (ready []span) {
	now := t.now()
	if a := t.adopter.anchors; len(a) == 0 || !t.adopter.ended && now.Before(a[0].until) {
		return nil
	}
	t.adopter.ended = false
	t.adopter.anchors = slices.DeleteFunc(t.adopter.anchors, func(a anchor) bool {
		s := a.span
		c := t.meant(&s, methodOf(&s))
		if c == nil {
			if now.After(a.until) {
				t.forsake(s.key(), 0)
				return true
			}
			return false
		}
		s.parent = c.span
		more, _, _ := t.below(s, c)
		ready = append(ready, more...)
		return true
	})
	return ready
}

// forsake forgets those that wait below a span that belongs to no call.
func (t *tree) forsake(above key, depth int) {
	if depth > 64 {
		return
	}
	for _, s := range t.waiting.take(above) {
		t.forsake(s.key(), depth+1)
	}
}

// meant is the call that a span is; nil where none is known yet, or where several can be meant.
func (t *tree) meant(s *span, method string) (only *call) {
	sandbox, container := t.subject(s)
	n := 0
	for _, c := range t.calls.m {
		if c.method != method || c.end == 0 || slices.Contains(c.served, s.event.Service) {
			continue
		}
		if known := container != "" && c.container != "" || sandbox != "" && container == "" && c.container == "" && c.sandbox != ""; known {
			if container != c.container && container != "" || container == "" && sandbox != c.sandbox {
				continue
			}
			if t.within(c, new(s.event)) {
				return c.serve(s)
			}
			continue
		}
		if near(s.event.Start+t.ahead, c.begin) && near(s.event.Start+int64(s.event.Dur)+t.ahead, c.end) {
			only = c
			n++
		}
	}
	if n != 1 {
		return nil
	}
	return only.serve(s)
}

// serve notes that a call has the span of a service.
func (c *call) serve(s *span) *call {
	c.served = append(c.served, s.event.Service)
	return c
}

func near(a, b int64) bool { return max(a-b, b-a) <= int64(anchorClose) }

// subject are the ids of the sandbox and the container that a span is about, by itself or by those right below it.
func (t *tree) subject(s *span) (sandbox, container string) {
	look := func(s *span) {
		for _, a := range s.event.Attrs {
			switch {
			case a.K == trace.AttrSandbox && sandbox == "":
				sandbox = a.V
			case a.K == trace.AttrContainer && container == "":
				container = a.V
			}
		}
	}
	look(s)
	for i := range t.waiting.below[s.key()] {
		if sub := &t.waiting.below[s.key()][i]; sub.event.Name == "cri.sandbox.run" {
			look(sub)
		}
	}
	return sandbox, container
}
