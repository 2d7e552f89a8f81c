package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// nodeStart has the durations of the node's first start, from boot to Ready: only if this agent created the node's object.
//
// Upstream: pkg/kubelet/util/node_startup_latency_tracker.go.
type nodeStart struct {
	beforeAgent, beforeRegistration, registration, afterRegistration, total, cgroups prometheus.Gauge

	boot, agent, tried, registered time.Time
	ready                          bool
}

func newNodeStart() nodeStart {
	return nodeStart{
		beforeAgent:        gauge("node_startup_pre_kubelet_duration_seconds", "Duration in seconds of node startup before kubelet starts."),
		beforeRegistration: gauge("node_startup_pre_registration_duration_seconds", "Duration in seconds of node startup before registration."),
		registration:       gauge("node_startup_registration_duration_seconds", "Duration in seconds of node startup during registration."),
		afterRegistration:  gauge("node_startup_post_registration_duration_seconds", "Duration in seconds of node startup after registration."),
		total:              gauge("node_startup_duration_seconds", "Duration in seconds of node startup in total."),
		cgroups:            gauge("cgroup_version", "The version of the cgroups in which pods run; 0 if the agent creates none."),
	}
}

// Booted says when the machine booted. Call it before the first record.
func (s *Sink) Booted(at time.Time) { s.nodeStart.boot = at }

// write applies a write of the node's object.
func (n *nodeStart) write(r *trace.Record, e *trace.NodeStatus) {
	at := time.Unix(0, r.Time)
	register := e.Op == trace.NodeRegister && e.Cause == trace.NodeStarts
	if register && n.tried.IsZero() {
		n.tried = time.Unix(0, r.Start())
	}
	if r.Edge != trace.EdgeEnd || e.Err != "" {
		return
	}
	if register && e.Refused == "" && n.registered.IsZero() {
		n.registered = at
		if !n.boot.IsZero() {
			n.beforeAgent.Set(n.agent.Sub(n.boot).Seconds())
		}
		n.beforeRegistration.Set(n.tried.Sub(n.agent).Seconds())
		n.registration.Set(at.Sub(n.tried).Seconds())
	}
	if e.Ready && !n.registered.IsZero() && !n.ready {
		n.ready = true
		n.afterRegistration.Set(at.Sub(n.registered).Seconds())
		if !n.boot.IsZero() {
			n.total.Set(at.Sub(n.boot).Seconds())
		}
	}
}

func (n *nodeStart) all() []prometheus.Collector {
	return []prometheus.Collector{n.beforeAgent, n.beforeRegistration, n.registration, n.afterRegistration, n.total, n.cgroups}
}
