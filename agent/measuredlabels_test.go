package agent

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/kubeloupe/kubeloupe/agent/volume/selinux"
)

// The metrics of labels have upstream's names and labels. On a node without SELinux, there is none.
func TestMeasureLabels(t *testing.T) {
	var page measured
	measureLabels(&page, nil)
	if got := page.Families(); len(got) != 0 {
		t.Errorf("without SELinux: %v", got)
	}
	measureLabels(&page, map[selinux.Count]int{
		{Metric: selinux.PodWarnings, Mode: "RWX"}:                                      2,
		{Metric: selinux.Admitted, Plugin: "kubernetes.io/csi/d.example", Mode: "RWOP"}: 3,
	})
	var got []string
	for _, f := range page.Families() {
		line := fmt.Sprintf("%s %s", f.GetName(), f.GetType())
		for _, s := range f.GetMetric() {
			for _, l := range s.GetLabel() {
				line += fmt.Sprintf(" %s=%s", l.GetName(), l.GetValue())
			}
			line += fmt.Sprintf(" %v", s.GetGauge().GetValue())
		}
		got = append(got, line)
		if !strings.HasPrefix(f.GetHelp(), "Number of ") {
			t.Errorf("%s: help %q", f.GetName(), f.GetHelp())
		}
	}
	want := []string{
		"volume_manager_selinux_pod_context_mismatch_warnings_total GAUGE access_mode=RWX 2",
		"volume_manager_selinux_volumes_admitted_total GAUGE access_mode=RWOP volume_plugin=kubernetes.io/csi/d.example 3",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
