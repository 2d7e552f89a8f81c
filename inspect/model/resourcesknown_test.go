package model

import (
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestKnown says what is not known of another kubelet: which CPUs are reserved, how much memory a node has, which devices are unhealthy.
func TestKnown(t *testing.T) {
	for _, c := range []struct {
		is   trace.ResourcesDescribed
		want bool
	}{
		{trace.ResourcesDescribed{CPUPolicy: "none"}, true},
		{trace.ResourcesDescribed{CPUPolicy: "static", Reserved: "0"}, true},
		{trace.ResourcesDescribed{CPUPolicy: "static"}, false},
		{trace.ResourcesDescribed{}, false},
	} {
		m, tp := New(Options{}), tape.New()
		if !m.Resources().ReservedKnown() {
			t.Error("no record describes the machine, and reserved CPUs are said to be unknown")
		}
		tp.Point(ms, trace.Pod{}, 0, &c.is)
		apply(m, tp.Records())
		if got := m.Resources().ReservedKnown(); got != c.want {
			t.Errorf("%+v: known %t", c.is, got)
		}
	}
	for m, want := range map[NUMAMemory]bool{{Total: 5, Free: 4}: true, {}: true, {Free: 4}: false, {Own: 4}: false} {
		if got := m.TotalKnown(); got != want {
			t.Errorf("%+v: known %t", m, got)
		}
	}
	m, tp := New(Options{}), tape.New()
	tp.Point(ms, trace.Pod{}, 0, &trace.DevicePlugin{Op: trace.PluginListed, Resource: gpu, Healthy: 2})
	tp.Point(ms, trace.Pod{}, 0, &trace.DevicePlugin{Op: trace.PluginDevices, Resource: "a", Healthy: 2})
	apply(m, tp.Records())
	if d := m.Resources().Devices; len(d) != 2 || d[0].HealthyOnly || !d[1].HealthyOnly || !d[1].Listed {
		t.Errorf("got %+v", d)
	}
}
