package proxy

import (
	"context"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
)

// call is one call as it is observed. It belongs to the goroutine that relays it.
type call struct {
	p       *Proxy
	method  method
	request proto.Message // a copy; nil where it was not decoded
	subject subject
	root    trace.Span      // what caused it
	ctx     context.Context //nolint:containedctx // the call's, with its action's span
	info    trace.CRICall
	action  trace.Action
	n       int       // the try
	began   time.Time // when it was forwarded
	came    time.Time // when the answer came, where it is described later

	actSpan, span    trace.Span
	acting, underway bool
}

// observe decodes a copy of a request and finds out whose it is. request may be nil.
func (p *Proxy) observe(ctx context.Context, m method, request *frame) *call {
	c := &call{p: p, method: m, ctx: ctx}
	if request != nil {
		c.request = decode(m.request, request)
	}
	c.subject = p.pods.subject(c.request)
	c.root = trace.SeenBy(trace.ForPod(trace.Span{}, c.subject.pod), trace.ObserverProxy, 0)
	c.root.Trace = c.subject.trace
	if t, id, ok := sent(ctx); ok {
		c.root.Trace, c.root.ID = t, id
	}
	if m.name == "" {
		return c
	}
	c.info = p.cfg.Calls.Request(c.subject.pod, m.name, c.request)
	if c.info.Sandbox == "" {
		c.info.Sandbox = c.subject.sandbox
	}
	c.action = actionOf(m.name, c.request, c.subject)
	return c
}

// begin publishes the beginning of what the call is for.
func (c *call) begin(n int) {
	c.n, c.began = n, time.Now()
	c.p.pods.begins(c)
	c.actSpan = c.root
	if c.acting = c.action.Verb != "" && !c.subject.pod.IsZero(); c.acting {
		c.actSpan = trace.Begin(c.p.cfg.Bus, c.root, c.action)
	}
}

// forward publishes the beginning of the call to the runtime, and returns its context.
func (c *call) forward(ctx context.Context) context.Context {
	if c.method.name == "" {
		return forwarded(ctx, "")
	}
	c.span = trace.Begin(c.p.cfg.Bus, c.actSpan, c.info)
	c.underway, c.began = true, time.Now()
	return forwarded(ctx, c.span.Traceparent())
}

// end publishes how it went. Of a stream it is called when that is open, and has no effect after.
func (c *call) end(answer *frame, err error) {
	var reply proto.Message
	if err == nil && answer != nil && c.wantsAnswer() {
		reply = decode(c.method.answer, answer)
	}
	if c.underway {
		info := c.info
		shown := reply
		if isList(c.method.name) {
			shown = nil // a list may be large and is requested again and again
			if err == nil && answer != nil {
				info.Items = items(answer)
			}
		}
		c.p.cfg.Calls.Reply(c.subject.pod, &info, shown, err)
		if !c.came.IsZero() {
			c.span.Precision = trace.PrecisionOf(time.Since(c.came))
		}
		trace.End(c.p.cfg.Bus, c.span, info)
		c.underway = false
	}
	if c.acting {
		a := c.action
		if err != nil {
			a.Err = message(err)
			a.Class = classify(a.Verb, a.Err)
		} else if id := idOf(reply); id != "" {
			a.Target = id
		}
		trace.End(c.p.cfg.Bus, c.actSpan, a)
		c.acting = false
	}
	c.p.pods.ended(c, reply, err)
	if v, ok := reply.(*runtimeapi.VersionResponse); ok {
		c.p.knows(v)
	}
}

// wantsAnswer reports whether something is made of the answer. Lists are read while something has to be learned from them.
func (c *call) wantsAnswer() bool {
	return !isList(c.method.name) || c.p.pods.wantsList(c.request)
}

func isList(method string) bool { return strings.HasPrefix(method, "List") }

// items counts the items of a list's answer, whose field is the first.
func items(answer *frame) (n int) {
	b := answer.bytes()
	for len(b) > 0 {
		num, kind, l := protowire.ConsumeTag(b)
		if l < 0 {
			return n
		}
		v := protowire.ConsumeFieldValue(num, kind, b[l:])
		if v < 0 {
			return n
		}
		if num == 1 {
			n++
		}
		b = b[l+v:]
	}
	return n
}

// sent returns the span that the kubelet made the call in, if it says so. See https://www.w3.org/TR/trace-context/#traceparent-header.
func sent(ctx context.Context) (t trace.TraceID, id trace.SpanID, ok bool) {
	md, _ := metadata.FromIncomingContext(ctx)
	all := md.Get("traceparent")
	if len(all) != 1 {
		return t, 0, false
	}
	parts := strings.Split(all[0], "-")
	if len(parts) < 4 || t.UnmarshalText([]byte(parts[1])) != nil || id.UnmarshalText([]byte(parts[2])) != nil {
		return trace.TraceID{}, 0, false
	}
	return t, id, !t.IsZero() && id != 0
}
