package metrics

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

// An ephemeral container has a type of its own, in each of its metrics and however its start ends.
func TestEphemeral(t *testing.T) {
	s, reg := newSink(t)
	apply := func(edge trace.Edge, e trace.Event) { s.Apply(&trace.Record{Pod: web, Edge: edge, Event: e}) }
	for _, e := range []trace.Action{
		{Verb: trace.VerbImage, Err: "no such image", Code: "ErrImagePull"},
		{Verb: trace.VerbImage},
		{Verb: trace.VerbCreate, Err: "no disk", Code: "CreateContainerError"},
		{Verb: trace.VerbCreate},
		{Verb: trace.VerbStart, Err: "no such command"},
		{Verb: trace.VerbStart},
	} {
		e.Container, e.Ephemeral = "debug", true
		apply(trace.EdgeEnd, &e)
	}
	apply(trace.EdgeEnd, &trace.Action{Verb: trace.VerbStart, Container: "web"})
	for _, state := range []trace.ContainerState{trace.ContainerRunning, trace.ContainerTerminated} {
		debug := trace.ContainerStatus{Name: "debug", Ephemeral: true, State: state}
		if state == trace.ContainerTerminated {
			debug.ExitCode, debug.Reason = 1, "Error"
		}
		apply(trace.EdgePoint, &trace.PodStatus{Phase: trace.PodRunning, Containers: []trace.ContainerStatus{{Name: "web", State: trace.ContainerRunning}, debug}})
	}
	has(t, ours(t, reg),
		`kubelet_started_containers_total{container_type="ephemeral_container"} 4`,
		`kubelet_started_containers_total{container_type="container"} 1`,
		`kubelet_started_containers_errors_total{code="ErrImagePull",container_type="ephemeral_container"} 1`,
		`kubelet_started_containers_errors_total{code="CreateContainerError",container_type="ephemeral_container"} 1`,
		`kubelet_started_containers_errors_total{code="RunContainerError",container_type="ephemeral_container"} 1`,
		`kubelet_terminated_containers_total{container_type="ephemeral_container",exit_code="1",reason="Error"} 1`)
}

// A pod has started when its app containers run, whatever the state of an ephemeral container.
func TestEphemeralDelaysNoStart(t *testing.T) {
	for _, state := range []trace.ContainerState{trace.ContainerWaiting, trace.ContainerRunning, trace.ContainerTerminated} {
		s, reg := newSink(t)
		t0 := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		at := t0
		put := func(edge trace.Edge, e trace.Event) {
			at = at.Add(time.Second)
			s.Apply(&trace.Record{Time: at.UnixNano(), Edge: edge, Pod: web, Event: e})
		}
		put(trace.EdgePoint, &trace.Milestone{Name: trace.MilestoneSeen, Source: trace.SourceAPI, Created: t0, Spec: &trace.PodSpec{}})
		put(trace.EdgePoint, &trace.PodStatus{Phase: trace.PodRunning, Containers: []trace.ContainerStatus{
			{Name: "web", State: trace.ContainerRunning}, {Name: "debug", Ephemeral: true, State: state},
		}})
		put(trace.EdgeEnd, &trace.StatusPatch{Op: trace.PatchStatus})
		put(trace.EdgePoint, &trace.Source{Source: trace.SourceAPI, Op: trace.OpReconcile})
		has(t, ours(t, reg), "kubelet_pod_start_total_duration_seconds_sum 4", "kubelet_pod_start_total_duration_seconds_count 1")
	}
}
