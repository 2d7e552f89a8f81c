package stats

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
	"github.com/kubeloupe/kubeloupe/trace"
)

// RuntimeMetrics is the part of the CRI for metrics that the runtime itself has.
type RuntimeMetrics interface {
	ListMetricDescriptors(context.Context, *runtimeapi.ListMetricDescriptorsRequest, ...grpc.CallOption) (*runtimeapi.ListMetricDescriptorsResponse, error)
	ListPodSandboxMetrics(context.Context, *runtimeapi.ListPodSandboxMetricsRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxMetricsResponse, error)
}

// RuntimeContainerMetrics serves /metrics/cadvisor with the metrics of the runtime, under the names that it chose, and those of the
// machine. If the runtime fails or has none, only those of the machine are there, and an error is published.
//
// Upstream: pkg/kubelet/metrics/collectors/cri_metrics.go; KEP-2371. Upstream reads the descriptors once.
func (s *Stats) RuntimeContainerMetrics(from RuntimeMetrics, bus *trace.Bus) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page exposition.Page
		ctx, cancel := context.WithTimeout(r.Context(), summaryLimit)
		defer cancel()
		if err := runtimeMetrics(ctx, &page, from); err != nil {
			trace.Point(bus, trace.FromContext(r.Context()), trace.Log{Level: trace.LevelError, Message: "/metrics/cadvisor: " + err.Error()})
		}
		s.machineMetrics(&page)
		page.Answer(w, r)
	})
}

func runtimeMetrics(ctx context.Context, page *exposition.Page, from RuntimeMetrics) error {
	known, err := from.ListMetricDescriptors(ctx, &runtimeapi.ListMetricDescriptorsRequest{})
	if err != nil {
		return fmt.Errorf("descriptions of the runtime's metrics: %w", err)
	}
	pods, err := from.ListPodSandboxMetrics(ctx, &runtimeapi.ListPodSandboxMetricsRequest{})
	if err != nil {
		return fmt.Errorf("metrics of the runtime: %w", err)
	}
	byName := map[string][]*runtimeapi.Metric{}
	add := func(list []*runtimeapi.Metric) {
		for _, m := range list {
			byName[m.GetName()] = append(byName[m.GetName()], m)
		}
	}
	for _, pod := range pods.GetPodMetrics() {
		add(pod.GetMetrics())
		for _, c := range pod.GetContainerMetrics() {
			add(c.GetMetrics())
		}
	}
	for _, d := range known.GetDescriptors() {
		samples := byName[d.GetName()]
		delete(byName, d.GetName()) // also if it is described twice
		if len(samples) > 0 && proper(d) {
			family(page, d, samples)
		}
	}
	return nil
}

// proper reports whether a metric has valid names, which are none of those of the machine.
func proper(d *runtimeapi.MetricDescriptor) bool {
	seen := map[string]bool{}
	for _, key := range d.GetLabelKeys() {
		if seen[key] || !model.LegacyValidation.IsValidLabelName(key) {
			return false
		}
		seen[key] = true
	}
	return model.LegacyValidation.IsValidMetricName(d.GetName()) && !strings.HasPrefix(d.GetName(), "machine_")
}

// family adds a metric. Samples whose labels are not those of the description are left out.
func family(page *exposition.Page, d *runtimeapi.MetricDescriptor, samples []*runtimeapi.Metric) {
	kind := samples[0].GetMetricType()
	if kind == runtimeapi.MetricType_COUNTER {
		page.Counter(d.GetName(), d.GetHelp())
	} else {
		page.Gauge(d.GetName(), d.GetHelp())
	}
	for _, m := range samples {
		if m.GetMetricType() != kind || len(m.GetLabelValues()) != len(d.GetLabelKeys()) {
			continue
		}
		labels := make([]string, 0, 2*len(d.GetLabelKeys()))
		for i, key := range d.GetLabelKeys() {
			labels = append(labels, key, m.GetLabelValues()[i])
		}
		var at time.Time // zero: of now
		if m.GetTimestamp() != 0 {
			at = time.Unix(0, m.GetTimestamp())
		}
		page.Sample(float64(m.GetValue().GetValue()), at, labels...)
	}
}
