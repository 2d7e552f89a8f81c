// Package casetest creates cases for tests of rules and of their texts: the records of one life of the pod shop/web, at given
// times.
//
// It owns a tape of records, runs no goroutine and publishes nothing.
package casetest

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/inspect/cause"
	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/waterfall"
	"github.com/kubeloupe/kubeloupe/trace"
)

// Open is the end of what continues.
const Open = time.Duration(-1)

// Web is the pod that a script is about, DB another one.
var (
	Web = trace.Pod{Namespace: "shop", Name: "web", UID: "u-web"}
	DB  = trace.Pod{Namespace: "shop", Name: "db", UID: "u-db"}
)

// Script is one life of the pod Web in the making.
type Script struct {
	t     *testing.T
	tape  *tape.Tape
	sync  trace.SpanID
	steps []trace.PlanStep
	last  time.Duration
	spec  *trace.PodSpec
}

// New returns a script that begins with the pod seen at 0, from a file, and its worker's first sync.
func New(t *testing.T) *Script {
	s := &Script{t: t, tape: tape.New(), spec: &trace.PodSpec{Containers: []trace.ContainerSpec{{Name: "web", Image: "shop/web:1"}}}}
	s.Point(0, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Spec: s.spec})
	s.sync = s.tape.Begin(0, Web, 0, &trace.Sync{Why: trace.SyncCreate, N: 1})
	return s
}

// Probe gives the pod's container a probe.
func (s *Script) Probe(p trace.ProbeSpec) {
	s.spec.Containers[0].Probes = append(s.spec.Containers[0].Probes, p)
}

// Finalizers gives the pod finalizers: their names, with commas between.
func (s *Script) Finalizers(names string) { s.spec.Finalizers = names }

// Gates gives the pod readiness gates.
func (s *Script) Gates(n int) { s.spec.ReadinessGates = n }

// Objects gives the pod objects that its spec refers to.
func (s *Script) Objects(all ...trace.Object) { s.spec.Objects = all }

// Found returns a script of a pod that was found running.
func Found(t *testing.T) *Script {
	s := &Script{t: t, tape: tape.New()}
	s.Point(0, 0, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceFile, Adopted: true})
	return s
}

// Span adds a span of the pod itself from one time to another (Open: it has not ended) and returns its id. Without a parent it
// belongs to the first sync.
func (s *Script) Span(from, to time.Duration, parent trace.SpanID, e trace.Event) trace.SpanID {
	if parent == 0 {
		parent = s.sync
	}
	return s.Of(Web, from, to, parent, e)
}

// Of adds a span of another pod, or of the node (the zero Pod).
func (s *Script) Of(pod trace.Pod, from, to time.Duration, parent trace.SpanID, e trace.Event) trace.SpanID {
	id := s.tape.Begin(from, pod, parent, e)
	if to >= 0 {
		s.tape.End(to, id, nil)
	}
	s.last = max(s.last, from, to)
	return id
}

// Point adds an instant of the pod itself, PointOf one of another pod or of the node.
func (s *Script) Point(at time.Duration, parent trace.SpanID, e trace.Event) trace.SpanID {
	return s.PointOf(Web, at, parent, e)
}

// PointOf adds a point of another pod or of the node.
func (s *Script) PointOf(pod trace.Pod, at time.Duration, parent trace.SpanID, e trace.Event) trace.SpanID {
	s.last = max(s.last, at)
	return s.tape.Point(at, pod, parent, e)
}

// Told adds what the kubelet's API tells of the node: that something had ended by a time and took so long, as exactly as precision.
func (s *Script) Told(at, took, precision time.Duration, e trace.Event) {
	s.PointOf(trace.Pod{}, at, 0, e)
	r := &s.tape.Recs[len(s.tape.Recs)-1]
	r.Edge, r.Dur, r.Observer, r.Precision = trace.EdgeEnd, took, trace.ObserverKubeletAPI, trace.PrecisionOf(precision)
}

// Action adds a step of the pod's plan, such as "image web", with the ids of the steps that it needs.
func (s *Script) Action(from, to time.Duration, a trace.Action, needs ...string) trace.SpanID {
	s.steps = append(s.steps, trace.PlanStep{ID: a.ID, Verb: a.Verb, Needs: needs})
	a.Class = trace.Classify(a.Err)
	return s.Span(from, to, 0, &a)
}

// Wait adds a wait.
func (s *Script) Wait(from, to time.Duration, parent trace.SpanID, w trace.Wait) trace.SpanID {
	w = w.WithCause(w.Cause)
	return s.Span(from, to, parent, &w)
}

// Call adds a CRI call; err is "" for one that worked.
func (s *Script) Call(from, to time.Duration, parent trace.SpanID, method, err string) trace.SpanID {
	code := "OK"
	if err != "" {
		code = "Unknown"
	}
	return s.Span(from, to, parent, &trace.CRICall{Method: method, Code: code, Err: err, Class: trace.Classify(err), Plugin: trace.PluginIn(err)})
}

// Milestone adds a milestone, such as started or ready.
func (s *Script) Milestone(at time.Duration, name trace.MilestoneName) {
	s.Point(at, s.sync, &trace.Milestone{Name: name, Since: at})
}

// Started ends the first sync with the pod started and ready.
func (s *Script) Started(at time.Duration) {
	s.Milestone(at, trace.MilestoneStarted)
	s.Milestone(at, trace.MilestoneReady)
	s.tape.End(at, s.sync, nil)
}

// Case returns the case at a time; 0 is the time of the last record.
func (s *Script) Case(now time.Duration) *cause.Case {
	s.t.Helper()
	if len(s.steps) > 0 {
		s.tape.Point(0, Web, s.sync, &trace.Plan{Steps: s.steps})
	}
	c := &cause.Case{Pod: Web, Now: tape.Epoch.Add(max(now, s.last))}
	for _, r := range s.tape.Records() {
		if r.Pod == Web {
			c.Records = append(c.Records, r)
		} else {
			c.Node = append(c.Node, &r)
		}
	}
	c.Waterfall, _ = waterfall.BuildAt(c.Records, Web, c.Now)
	return c
}

// One returns the only finding of a rule in a case, nil when the rule is silent.
func One(t *testing.T, c *cause.Case, id string) *cause.Finding {
	t.Helper()
	var out []cause.Finding
	for _, f := range cause.Find(c) {
		if f.ID == id {
			out = append(out, f)
		}
	}
	if len(out) > 1 {
		t.Fatalf("%d findings of %s, at most one was expected: %+v", len(out), id, out)
	}
	if len(out) == 0 {
		return nil
	}
	return &out[0]
}
