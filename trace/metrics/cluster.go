package metrics

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace"
)

// cluster applies the ends of what a cluster node does.
func (s *Sink) cluster(r *trace.Record) {
	sec := r.Dur.Seconds()
	switch e := r.Event.(type) {
	case *trace.ProbeAttempt:
		s.probe(e, sec)
	case *trace.StatusPatch:
		// Upstream: pkg/kubelet/status/status_manager.go, syncPod.
		if e.Err == "" && e.Op == trace.PatchStatus {
			s.statusSync.Observe(e.Age.Seconds())
		}
	case *trace.APICall:
		code := "<error>"
		if e.Code != 0 {
			code = strconv.Itoa(e.Code)
		}
		method := httpMethod(e.Verb)
		host := *s.apiHost.Load()
		s.apiRequests.WithLabelValues(code, method, host).Inc()
		if e.Attempt > 1 { // Upstream: client-go/rest/with_retry.go
			s.apiRetries.WithLabelValues(code, method, host).Inc()
		}
		s.apiDuration.WithLabelValues(method, host).Observe(sec)
		s.delegated.review(e, code, sec)
	case *trace.Volume:
		requested := int64(0)
		if p := s.pods[r.Pod]; p != nil {
			requested = p.volumes
		}
		s.more.volume(s, r, e, requested)
		s.storageOps(e, r.Dur)
	case *trace.CSICall:
		if e.Flex || e.Program {
			return // upstream has no metric of these
		}
		s.csi.WithLabelValues(s.drivers.label(e.Driver), csiMethod(e.Method), s.codes.label(e.Code), strconv.FormatBool(e.Migrated)).Observe(sec)
	case *trace.ServerRequest:
		s.delegated.certificate(e)
		if s.local(e) || e.Server == trace.ServerHealthz {
			return
		}
		values := s.inflight.labelsOf(e)
		if !s.inflight.end(r.Span) { // its begin was not counted
			s.inflight.count(values, e)
		}
		s.httpDuration.WithLabelValues(values[:]...).Observe(sec)
		if kind, _, _ := strings.Cut(strings.TrimPrefix(e.Path, "/"), "/"); e.WebSocket {
			s.more.webSockets.WithLabelValues(strings.ToLower(kind)).Inc()
		}
	case *trace.NodeStatus:
		result := "success"
		if e.Err != "" {
			result = "error"
		}
		s.nodeWrites.WithLabelValues(string(e.Op), string(e.Cause), result).Inc()
	}
}

// probe counts a finished attempt. An early one that failed does not count.
//
// Upstream: pkg/kubelet/prober/prober_manager.go, ProberResults.
func (s *Sink) probe(e *trace.ProbeAttempt, sec float64) {
	kinds := map[trace.ProbeKind]string{trace.ProbeLiveness: "Liveness", trace.ProbeReadiness: "Readiness", trace.ProbeStartup: "Startup"}
	kind := cmp.Or(kinds[e.Probe], "Unknown")
	results := map[trace.ProbeResult]string{
		trace.ProbeSuccess: "successful", trace.ProbeWarning: "successful", trace.ProbeFailure: "failed", trace.ProbeError: "unknown",
	}
	result := results[e.Result]
	if result == "" || (e.Early && result != "successful") {
		return
	}
	s.probes.WithLabelValues(kind, result).Inc()
	if result == "successful" {
		s.probeDuration.WithLabelValues(kind).Observe(sec)
	}
}

// pluginOf returns the label for a volume's plugin, and its CSI driver.
//
// Upstream: pkg/volume/util/metrics.go, GetFullQualifiedPluginNameForVolume.
func (s *Sink) pluginOf(e *trace.Volume) string {
	if e.Driver == "" {
		return s.plugins.label(e.Plugin)
	}
	return s.plugins.label(e.Plugin + ":" + e.Driver)
}

// csiMethod returns the RPC's full name: the event has only its last part.
func csiMethod(method string) string {
	switch {
	case strings.HasPrefix(method, "Node"):
		return "/csi.v1.Node/" + method
	case strings.HasPrefix(method, "GetPlugin"), method == "Probe":
		return "/csi.v1.Identity/" + method
	}
	return "/csi.v1.Controller/" + method
}

func httpMethod(verb trace.APIVerb) string {
	switch verb {
	case trace.APIGet, trace.APIList, trace.APIWatch:
		return "GET"
	case trace.APICreate:
		return "POST"
	case trace.APIUpdate:
		return "PUT"
	case trace.APIPatch:
		return "PATCH"
	case trace.APIDelete, trace.APIDeleteCollection:
		return "DELETE"
	}
	return "OTHER"
}

// knownMethod prevents clients from creating label values. PATCH is another method, as upstream.
//
// Upstream: pkg/kubelet/server/server.go, getMetricMethodBucket.
func knownMethod(method string) string {
	switch method {
	case "OPTIONS", "GET", "HEAD", "POST", "PUT", "DELETE", "TRACE", "CONNECT":
		return method
	}
	return "other"
}
