package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// latency has the collectors of pod starts, from the creation of the pod's object until the watch shows that all its containers have started.
//
// Upstream: pkg/kubelet/util/pod_startup_latency_tracker.go.
type latency struct {
	total, sli prometheus.Histogram
	first      prometheus.Gauge // of the first pod with a network of its own
	seen       bool             // there was one
}

func newLatency() latency {
	return latency{
		total: histogram("pod_start_total_duration_seconds", "From the creation of a pod until the watch shows that all its containers have started.", podStartBuckets),
		sli:   histogram("pod_start_sli_duration_seconds", "As pod_start_total_duration_seconds, without the time of image pulls and init containers, and without stateful pods.", podStartBuckets),
		first: gauge("first_network_pod_start_sli_duration_seconds", "As pod_start_sli_duration_seconds, of the first pod without host network."),
	}
}

// birth is what is known of the start of a pod that is new in the API.
type birth struct {
	created               time.Time
	stateful, hostNetwork bool
	// pulling is the number of its image pulls that run, since is when there was none last, and pulled is how long there was one.
	pulling     int
	since       int64
	pulled, ran time.Duration // ran is how long its init containers ran
	// running is when the agent saw that all containers run; sent says that such a status was sent to the API server.
	running int64
	sent    bool
}

// born returns what to keep of a pod; nil if it is not new in the API.
func born(e *trace.Milestone) *birth {
	if e.Created.IsZero() || e.Adopted || e.Spec == nil {
		return nil
	}
	return &birth{created: e.Created, stateful: e.Spec.Stateful, hostNetwork: e.Spec.HostNetwork}
}

// pull notes the begin or the end of a pull.
func (b *birth) pull(r *trace.Record) {
	switch r.Edge {
	case trace.EdgeBegin:
		if b.pulling == 0 {
			b.since = r.Time
		}
		b.pulling++
	case trace.EdgeEnd:
		if b.pulling--; b.pulling == 0 {
			b.pulled += time.Duration(r.Time - b.since)
		}
		b.pulling = max(b.pulling, 0) // its begin was lost
	case trace.EdgePoint:
	}
}

// status notes the state of the containers.
func (b *birth) status(r *trace.Record, e *trace.PodStatus) {
	b.ran = 0
	all := len(e.Containers) > 0
	for _, c := range e.Containers {
		switch {
		case c.Init && c.State == trace.ContainerTerminated && !c.Started.IsZero():
			b.ran += max(c.Finished.Sub(c.Started), 0)
		case !c.Init && !c.Ephemeral && c.State != trace.ContainerRunning:
			all = false
		}
	}
	if all && b.running == 0 {
		b.running = r.Time
	}
}

// observe applies a record about a pod's start; it reports whether the start is over.
func (l *latency) observe(b *birth, r *trace.Record) bool {
	switch e := r.Event.(type) {
	case *trace.ImagePull:
		b.pull(r)
	case *trace.PodStatus:
		b.status(r, e)
	case *trace.StatusPatch:
		if e.Op == trace.PatchStatus && b.running != 0 && r.Start() >= b.running && e.Err == "" {
			b.sent = true
		}
	case *trace.Source:
		if !b.sent || e.Source != trace.SourceAPI {
			return false
		}
		took := time.Unix(0, r.Time).Sub(b.created)
		l.total.Observe(took.Seconds())
		if b.stateful {
			return true
		}
		sli := (took - b.pulled - b.ran).Seconds()
		l.sli.Observe(sli)
		if !b.hostNetwork && !l.seen {
			l.seen = true
			l.first.Set(sli)
		}
		return true
	}
	return false
}

func (l *latency) all() []prometheus.Collector {
	return []prometheus.Collector{l.total, l.sli, l.first}
}
