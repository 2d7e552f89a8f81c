package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// device counts registrations and allocations. Upstream: pkg/kubelet/cm/devicemanager.
func (s *Sink) device(e trace.Event) {
	switch e := e.(type) {
	case *trace.DevicePlugin:
		if e.Op == trace.PluginRegistered {
			s.devicePlugins.WithLabelValues(s.resources.label(e.Resource)).Inc()
		}
	case *trace.DeviceAllocation:
		if e.Outcome != trace.DevicesPrepared && e.Took > 0 {
			s.deviceAllocations.WithLabelValues(s.resources.label(e.Resource)).Observe(e.Took.Seconds())
		}
	}
}

// localAPI has the collectors of an API on a local socket: all requests, and those of each method, by the method's name.
type localAPI struct {
	total            *prometheus.CounterVec
	requests, errors map[string]*prometheus.CounterVec
	// onlyTotal is the version of which total alone counts the requests; "" for none.
	onlyTotal string
	// coded says that the label values include the status.
	coded bool
}

// podResourcesAPI returns the collectors of the podresources API.
//
// Upstream: pkg/kubelet/metrics/metrics.go; pkg/kubelet/apis/podresources/server_v1alpha1.go.
func podResourcesAPI() localAPI {
	const version = "server_api_version"
	a := localAPI{total: counters("pod_resources_endpoint_requests_total", "Requests to the podresources API.", version), onlyTotal: "v1alpha1"}
	a.requests, a.errors = map[string]*prometheus.CounterVec{}, map[string]*prometheus.CounterVec{}
	for method, name := range map[string]string{"List": "list", "Get": "get", "GetAllocatableResources": "get_allocatable"} {
		a.requests[method] = counters("pod_resources_endpoint_requests_"+name, "Requests to the podresources API, method "+method+".", version)
		a.errors[method] = counters("pod_resources_endpoint_errors_"+name, "Requests to the podresources API, method "+method+", that failed.", version)
	}
	return a
}

// podsAPI returns the collectors of the pods API. Upstream: pkg/kubelet/metrics/metrics.go.
func podsAPI() localAPI {
	labels := []string{"server_api_version", "status_code"}
	a := localAPI{total: counters("pod_requests_total", "Requests to the pods API that ended, by status.", labels...), requests: map[string]*prometheus.CounterVec{}, coded: true}
	for method, name := range map[string]string{"ListPods": "list", "GetPod": "get", "WatchPods": "watch"} {
		a.requests[method] = counters("pod_requests_"+name+"_total", "Requests to the pods API, method "+method+", that ended, by status.", labels...)
	}
	return a
}

func (a *localAPI) all() (out []prometheus.Collector) {
	out = append(out, a.total)
	for _, m := range []map[string]*prometheus.CounterVec{a.requests, a.errors} {
		for _, c := range m {
			out = append(out, c)
		}
	}
	return out
}

// local counts a request to a local API; false if it is another server's.
func (s *Sink) local(e *trace.ServerRequest) bool {
	var a *localAPI
	switch e.Server { //nolint:exhaustive // the others are servers of HTTP
	case trace.ServerPodResources:
		a = &s.podResources
	case trace.ServerPods:
		a = &s.podsAPI
	default:
		return false
	}
	one := a.requests[e.Method]
	if one == nil {
		return true // these servers have no other methods
	}
	labels := []string{version(e.Path)}
	if a.coded {
		labels = append(labels, grpcCode(e.Code))
	}
	a.total.WithLabelValues(labels...).Inc()
	if labels[0] == a.onlyTotal {
		return true
	}
	one.WithLabelValues(labels...).Inc()
	if failed := a.errors[e.Method]; failed != nil && e.Code >= 400 {
		failed.WithLabelValues(labels...).Inc()
	}
	return true
}

// version returns the version of a service: v1 of /v1.PodResourcesLister/List.
func version(path string) string {
	v, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), ".")
	if v == "v1" || v == "v1alpha1" {
		return v
	}
	return "unknown"
}

// grpcCode returns the name of the gRPC status that an HTTP status stands for.
func grpcCode(code int) string {
	switch code {
	case 200:
		return "OK"
	case 404:
		return "NotFound"
	case trace.CodeCanceled:
		return "Canceled"
	case 503:
		return "FailedPrecondition"
	case 500:
		return "Internal"
	}
	return "Unknown"
}
