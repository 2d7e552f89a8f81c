package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeloupe/kubeloupe/trace"
)

// maxInflight limits the requests that are kept: the servers have fewer at once.
const maxInflight = 4096

// inflight are the requests to the agent's HTTP servers that have not ended, with their labels.
type inflight struct {
	gauge *prometheus.GaugeVec
	total *prometheus.CounterVec
	by    map[trace.SpanID][4]string
	// forgotten are counted requests whose ends may be lost.
	forgotten map[trace.SpanID]bool
	endpoints Endpoints
}

func newInflight() inflight {
	labels := []string{"method", "path", "server_type", "long_running"}
	return inflight{
		gauge: gauges("http_inflight_requests", "Number of the inflight http requests", labels...),
		total: counters("http_requests_total", "Requests to the agent's servers that began; those that were not published are other.", labels...),
		by:    map[trace.SpanID][4]string{}, endpoints: allEndpoints(),
	}
}

// labelsOf returns the labels of a request: method, path, server_type, long_running.
func (f *inflight) labelsOf(e *trace.ServerRequest) [4]string {
	path, long := f.endpoints.of(e.Server).label(e.Path)
	kind := "readwrite"
	if e.Server != trace.ServerHTTPS {
		kind = "readonly"
	}
	return [4]string{knownMethod(e.Method), path, kind, strconv.FormatBool(long)}
}

// begin takes in a request, and counts it. Those of the APIs on local sockets are not HTTP requests, and upstream counts none of the health
// port.
func (f *inflight) begin(span trace.SpanID, e *trace.ServerRequest) {
	if e.Server == trace.ServerPodResources || e.Server == trace.ServerPods || e.Server == trace.ServerHealthz || len(f.by) >= maxInflight {
		return
	}
	labels := f.labelsOf(e)
	f.by[span] = labels
	f.gauge.WithLabelValues(labels[:]...).Inc()
	f.count(labels, e)
}

// count counts a request, and those before it that were not published: which methods and paths these had is not known.
func (f *inflight) count(labels [4]string, e *trace.ServerRequest) {
	f.total.WithLabelValues(labels[:]...).Inc()
	if e.Unpublished > 0 {
		f.total.WithLabelValues("other", "other", labels[2], "false").Add(float64(e.Unpublished))
	}
}

// end reports whether the request was counted when it began.
func (f *inflight) end(span trace.SpanID) bool {
	labels, ok := f.by[span]
	if ok {
		delete(f.by, span)
		f.gauge.WithLabelValues(labels[:]...).Dec()
	}
	counted := ok || f.forgotten[span]
	delete(f.forgotten, span)
	return counted
}

// forget forgets all requests: the ends of some were lost.
func (f *inflight) forget() {
	f.forgotten = map[trace.SpanID]bool{}
	for span := range f.by {
		f.end(span)
		f.forgotten[span] = true
	}
}
