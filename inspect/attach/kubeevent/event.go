package kubeevent

import (
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/human"
)

// Precision is that of the times in Events and objects: whole seconds.
const Precision = time.Second

// Event is what matters of an Event, in v1 or in events.k8s.io/v1.
type Event struct {
	// Kind is what it is about, with its name; Pod or Node.
	Kind                 string
	Namespace, Name, UID string
	// Field is the field of the object, such as spec.containers{web}.
	Field string
	// Warning says that its type is not Normal.
	Warning         bool
	Reason, Message string
	// First and Last are when it was for the first and the last time, Other are the times that stand in for Last where there is none.
	First, Last time.Time
	Other       []time.Time
}

// At is when it was last; zero where it does not say.
func (e *Event) At() time.Time {
	at := e.Last
	for _, t := range e.Other {
		if at.IsZero() {
			at = t
		}
	}
	return at
}

// Pod is the pod that it is about; no pod for a node.
func (e *Event) Pod() trace.Pod {
	if e.Kind != "Pod" {
		return trace.Pod{}
	}
	return Name(e.Namespace, e.Name, e.UID)
}

// Name is a pod's identity, of bounded length.
func Name(ns, name, uid string) trace.Pod {
	return trace.Pod{Namespace: Clean(ns, 253), Name: Clean(name, 253), UID: Clean(uid, 64)}
}

// Clean is foreign text of bounded length that does nothing to what shows it.
func Clean(s string, most int) string { return human.Visible(trace.Clip(s, most)) }

// usual bounds when something can have been: 1971 to 2198, as times in nanoseconds.
func usual(t time.Time) bool { return t.Year() >= 1971 && t.Year() <= 2198 }

// Records are what an Event tells that was at a time, as exactly as precision: the Event itself, and what was done. next gives span ids. There
// are none where the time is not one.
func (e *Event) Records(at time.Time, precision time.Duration, next func() trace.SpanID) []trace.Record {
	if e.Kind != "Pod" && e.Kind != "Node" || !usual(at) {
		return nil
	}
	pod := e.Pod()
	like := trace.Record{Time: at.UnixNano(), Pod: pod, Observer: trace.ObserverAPIServer, Precision: trace.PrecisionOf(precision)}
	point := like
	told := &trace.NodeEvent{Type: trace.EventNormal, Reason: Clean(e.Reason, 256), Message: Clean(e.Message, 4096), Field: Clean(e.Field, 512)}
	if e.Warning {
		told.Type = trace.EventWarning
	}
	told.Volume, told.Class = FailedVolume(e.Reason, e.Message)
	point.Span, point.Event = next(), told
	out := []trace.Record{point}
	if pod.Name != "" && e.Reason == "Pulled" {
		out = append(out, e.pulled(like, next)...)
	}
	return out
}

// pulled are a pull that has ended, what of it was a wait for others, and the step of the container that it was for.
func (e *Event) pulled(like trace.Record, next func() trace.SpanID) (out []trace.Record) {
	name, _, ok := Container(e.Field)
	p := Pulled(e.Message)
	if !ok || p.All == 0 {
		return nil
	}
	put := func(parent trace.SpanID, before, d time.Duration, ev trace.Event) trace.SpanID {
		r := like
		r.Edge, r.Time, r.Dur = trace.EdgeEnd, r.Time-int64(before), d
		r.Span, r.Parent, r.Event = next(), parent, ev
		out = append(out, r)
		return r.Span
	}
	image := Clean(p.Image, 512)
	step := put(0, 0, p.All, &trace.Action{ID: "image " + name, Verb: trace.VerbImage, Container: name, Target: image})
	pull := put(step, 0, p.All, &trace.ImagePull{Image: image, Bytes: p.Bytes})
	if w := p.Waited(); w > 0 {
		put(pull, p.Took, w, &trace.Wait{For: trace.WaitOtherPull, Target: trace.Target{Kind: trace.TargetPulls}})
	}
	return out
}

// Told are the records of an Event as an object tells it later: of the first time that it was, and of the last.
func (e *Event) Told(next func() trace.SpanID) (out []trace.Record) {
	at := e.At()
	if !e.First.IsZero() && at.Sub(e.First) > Precision {
		out = e.Records(e.First, Precision, next)
		if len(out) > 1 {
			out = out[:1] // what was done is of the last time
		}
	}
	return append(out, e.Records(at, Precision, next)...)
}
