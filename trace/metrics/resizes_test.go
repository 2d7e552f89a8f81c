package metrics

import (
	"testing"
	"time"

	"github.com/kubeloupe/kubeloupe/trace"
)

func TestResizes(t *testing.T) {
	s, reg := newSink(t)
	for _, e := range []trace.Event{
		&trace.Resize{Op: trace.ResizeRequested, Container: "web", Resource: "cpu", Bound: "limits", Change: trace.ResizeDecrease},
		&trace.Resize{Op: trace.ResizeRefused, Ground: trace.ResizeOfSwap},
		&trace.Resize{Op: trace.ResizeRefused, Ground: trace.ResizeOfOwnMemory},
		&trace.Resize{Op: trace.ResizeWaited, End: trace.ResizeAccepted, Trigger: trace.ResizeForTerminated, Priority: "high", Took: 7 * time.Second},
		&trace.Resize{Op: trace.ResizeWaited, End: trace.ResizeTerminated, Priority: "unknown", Took: time.Minute},
		&trace.Resize{Op: trace.ResizeWaited, End: trace.ResizeHopeless, Priority: "high"},
		&trace.Resize{Op: trace.ResizeActuated, Took: 40 * time.Millisecond},
		&trace.Resize{Op: trace.ResizeActuated, Took: 2 * time.Second, Failed: true},
		&trace.Eviction{Signal: trace.SignalMemory, Outcome: trace.EvictionNear},
		&trace.Eviction{Signal: trace.SignalMemory, Outcome: trace.EvictionEvicted, Age: 20 * time.Millisecond},
	} {
		s.Apply(&trace.Record{Edge: trace.EdgePoint, Event: e})
	}
	for _, path := range []string{"/exec/ns/web/web", "/portForward/ns/web"} {
		s.Apply(&trace.Record{Edge: trace.EdgeEnd, Event: &trace.ServerRequest{Server: trace.ServerHTTPS, Path: path, WebSocket: true}})
	}
	s.Apply(&trace.Record{Edge: trace.EdgeEnd, Event: &trace.ServerRequest{Server: trace.ServerHTTPS, Path: "/attach/ns/web/web"}})
	has(t, ours(t, reg),
		`kubelet_container_requested_resizes_total{operation="decrease",requirement="limits",resource="cpu"} 1`,
		`kubelet_pod_infeasible_resizes_total{reason_detail="swap_limitation"} 1`,
		`kubelet_pod_infeasible_resizes_total{reason_detail="guaranteed_pod_memory_manager_static_policy"} 1`,
		`kubelet_pod_deferred_accepted_resizes_total{retry_trigger="pod_terminated"} 1`,
		`kubelet_pod_deferred_resize_duration_seconds_bucket{priority_bucket="high",resolution="accepted",le="10"} 1`,
		`kubelet_pod_deferred_resize_duration_seconds_count{priority_bucket="high",resolution="accepted"} 1`,
		`kubelet_pod_deferred_resize_duration_seconds_sum{priority_bucket="unknown",resolution="terminated"} 60`,
		`kubelet_pod_resize_duration_milliseconds_sum{success="true"} 40`,
		`kubelet_pod_resize_duration_milliseconds_bucket{success="false",le="2000"} 1`,
		`kubelet_eviction_stats_age_seconds_count{eviction_signal="memory.available"} 1`,
		`kubelet_websocket_streaming_requests_total{subresource="exec"} 1`,
		`kubelet_websocket_streaming_requests_total{subresource="portforward"} 1`,
	)
}
