package report_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/kubeloupe/kubeloupe/inspect/internal/tape"
	"github.com/kubeloupe/kubeloupe/inspect/model"
	"github.com/kubeloupe/kubeloupe/inspect/report"
	"github.com/kubeloupe/kubeloupe/trace"
)

// TestEnds holds that rows that differ at the end of a long name only are different at 80 columns, and that the end is shown.
func TestEnds(t *testing.T) {
	const uid = "kubepods-burstable-pod12f7ccb4_158a_41fb_97d6_502c4481ad88.slice"
	var images, groups []string
	for _, tag := range []string{"v1.37.0", "v1.37.1"} {
		images = append(images, fmt.Sprintf(`{"id": "sha256:%064d", "tags": ["registry.internal.example.org/platform/teams/shop/checkout-service:%s"], "used_by": ["shop/%s-0", "shop/%s-1"]}`,
			len(images), tag, strings.Repeat("a", 40), strings.Repeat("b", 40)))
		groups = append(groups, fmt.Sprintf(`{"path": "/sys/fs/cgroup/kubepods.slice/kubepods-burstable.slice/%s/cri-containerd-%s.scope"}`, uid, tag))
	}
	tp := tape.New()
	long := strings.Repeat("checkout-", 8) + "7d4f9c8b6d-"
	for i, end := range []string{"v1.37.0", "v1.37.1"} {
		pod := trace.Pod{Namespace: "shop", Name: long + end, UID: end}
		tp.Point(0, pod, 0, &trace.Milestone{Name: trace.MilestoneSeen, Spec: &trace.PodSpec{}})
		tp.Point(0, pod, 0, &trace.PodStatus{Phase: trace.PodPending, Message: strings.Repeat("é ", 50), Total: i})
	}
	m := model.New(model.Options{})
	for _, r := range tp.Records() {
		m.Apply(&r)
	}
	for subject, live := range map[string][]string{"images": images, "cgroup": groups, "pods": nil, "workers": nil} {
		args := report.Args{Now: tape.Epoch, Live: json.RawMessage("[" + strings.Join(live, ",") + "]")}
		table, err := report.Make(subject, m, args)
		if err != nil {
			t.Fatal(err)
		}
		got := write(t, table, report.Text, 80)
		if !strings.Contains(got, "1.37.0") || !strings.Contains(got, "1.37.1") {
			t.Errorf("%s:\n%s", subject, got)
		}
	}
}
