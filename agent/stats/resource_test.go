package stats

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

// What is not known has no sample, as upstream: 0 would be a value.
func TestResourceMetricsUnknown(t *testing.T) {
	now := metav1.Now()
	cpu, memory, swap := &statsapi.CPUStats{Time: now}, &statsapi.MemoryStats{Time: now}, &statsapi.SwapStats{Time: now}
	sum := &statsapi.Summary{
		Node: statsapi.NodeStats{CPU: cpu, Memory: memory, Swap: swap},
		Pods: []statsapi.PodStats{{CPU: cpu, Memory: memory, Swap: swap, Containers: []statsapi.ContainerStats{
			{Name: "a", StartTime: metav1.NewTime(time.Unix(0, 0)), CPU: cpu, Memory: memory, Swap: swap}, {Name: "b"},
		}}},
	}
	var page exposition.Page
	resourceMetrics(&page, sum)
	for _, f := range page.Families() {
		t.Errorf("samples of what is not known: %v", f)
	}
}
