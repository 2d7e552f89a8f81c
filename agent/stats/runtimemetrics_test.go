package stats

import (
	"context"
	"errors"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/kubeloupe/kubeloupe/trace"
	"github.com/kubeloupe/kubeloupe/trace/tracetest"
)

// metrics is a runtime with metrics.
type metrics struct {
	descriptors []*runtimeapi.MetricDescriptor
	pods        []*runtimeapi.PodSandboxMetrics
	err         error
}

func (m *metrics) ListMetricDescriptors(context.Context, *runtimeapi.ListMetricDescriptorsRequest, ...grpc.CallOption) (*runtimeapi.ListMetricDescriptorsResponse, error) {
	return &runtimeapi.ListMetricDescriptorsResponse{Descriptors: m.descriptors}, nil
}

func (m *metrics) ListPodSandboxMetrics(context.Context, *runtimeapi.ListPodSandboxMetricsRequest, ...grpc.CallOption) (*runtimeapi.ListPodSandboxMetricsResponse, error) {
	return &runtimeapi.ListPodSandboxMetricsResponse{PodMetrics: m.pods}, m.err
}

// The runtime's metrics have its names and descriptions; what it did not describe, or not properly, is left out.
func TestRuntimeMetrics(t *testing.T) {
	const counter, gauge = runtimeapi.MetricType_COUNTER, runtimeapi.MetricType_GAUGE
	of := func(name string, kind runtimeapi.MetricType, value uint64, at int64, labels ...string) *runtimeapi.Metric {
		return &runtimeapi.Metric{Name: name, MetricType: kind, Value: u64(value), Timestamp: at, LabelValues: labels}
	}
	described := func(name string, keys ...string) *runtimeapi.MetricDescriptor {
		return &runtimeapi.MetricDescriptor{Name: name, Help: "Help of " + name + ".", LabelKeys: keys}
	}
	from := &metrics{
		descriptors: []*runtimeapi.MetricDescriptor{
			described("container_x_total", "id", "name"), described("container_y"), described("container_unused"), described("container_x_total", "id", "name"),
			described("not a name"), described("container_z", "not a label"), described("container_twice", "id", "id"), described("machine_cpu_cores"),
		},
		pods: []*runtimeapi.PodSandboxMetrics{
			{
				Metrics: []*runtimeapi.Metric{
					of("container_x_total", counter, 1, 0, "/a", "s1"), of("container_y", gauge, 2, 1_700_000_000_000_000_000), of("container_unknown", gauge, 3, 0),
					of("not a name", gauge, 1, 0), of("container_z", gauge, 1, 0, "v"), of("container_twice", gauge, 1, 0, "a", "b"), of("machine_cpu_cores", gauge, 1, 0),
				},
				ContainerMetrics: []*runtimeapi.ContainerMetrics{{Metrics: []*runtimeapi.Metric{
					of("container_x_total", counter, 4, 0, "/a/b", "c1"), of("container_x_total", counter, 5, 0, "no name"), of("container_x_total", gauge, 6, 0, "/a/b", "c2"),
				}}},
			},
		},
	}
	want := `# HELP container_x_total Help of container_x_total.
# TYPE container_x_total counter
container_x_total{id="/a",name="s1"} 1
container_x_total{id="/a/b",name="c1"} 4
# HELP container_y Help of container_y.
# TYPE container_y gauge
container_y 2 1700000000000
`
	s, _ := world(t)
	rec := tracetest.New(t)
	ask := func() (ofContainers, ofMachine string) {
		w := httptest.NewRecorder()
		s.RuntimeContainerMetrics(from, rec.Bus()).ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), "GET", "/metrics/cadvisor", nil))
		before, after, _ := strings.Cut(w.Body.String(), "# HELP machine_scrape_error")
		return before, after
	}
	got, machine := ask()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := strings.Count(machine, "# TYPE machine_cpu_cores"); n != 1 {
		t.Errorf("machine_cpu_cores is there %d times", n)
	}
	from.err = errors.New("the runtime is away")
	if got, machine = ask(); got != "" || !strings.Contains(machine, "machine_memory_bytes") {
		t.Errorf("with an error: %s%s", got, machine)
	}
	if logs := tracetest.Events[trace.Log](rec); len(logs) != 1 || logs[0].Message != "/metrics/cadvisor: metrics of the runtime: the runtime is away" {
		t.Errorf("logs %+v", logs)
	}
}
