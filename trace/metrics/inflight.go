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
}

func newInflight(total *prometheus.CounterVec) inflight {
	return inflight{gauges("http_inflight_requests", "Number of the inflight http requests", "method", "path", "server_type", "long_running"), total, map[trace.SpanID][4]string{}, nil}
}

// labelsOf returns the labels of a request: method, path, server_type, long_running.
func labelsOf(e *trace.ServerRequest) [4]string {
	path, long := serverPath(e.Path)
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
	labels := labelsOf(e)
	f.by[span] = labels
	f.gauge.WithLabelValues(labels[:]...).Inc()
	f.total.WithLabelValues(labels[:]...).Inc()
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
