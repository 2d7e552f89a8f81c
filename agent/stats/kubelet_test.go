package stats

import (
	"net/http"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/exposition"
)

func TestKubeletMetrics(t *testing.T) {
	s, _ := world(t)
	claim := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}}
	pod := func(name string, uid string) v1.Pod {
		return v1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)},
			Spec:       v1.PodSpec{Containers: []v1.Container{{Name: "web"}}, Volumes: []v1.Volume{{Name: "data", VolumeSource: claim}, {Name: "none", VolumeSource: claim}}},
		}
	}
	dir := s.cfg.RootDir + "/pods/u1/volumes/kubernetes.io~empty-dir/data"
	s.cfg.Pods = func() []v1.Pod { return []v1.Pod{pod("web", "u1"), pod("other", "u2")} }
	s.cfg.Volumes = func(*v1.Pod) map[string]string { return map[string]string{"data": dir} }
	got := scrape(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var page exposition.Page
		s.KubeletMetrics(r.Context(), &page)
		page.Answer(w, r)
	}))
	logs := got["kubelet_container_log_filesystem_used_bytes"]
	if m := find(logs, map[string]string{"container": "web", "namespace": "shop", "pod": "web", "uid": "u1"}); m.GetGauge().GetValue() < 5000 || len(logs.GetMetric()) != 1 {
		t.Errorf("logs: %v", logs)
	}
	used := got["kubelet_volume_stats_used_bytes"]
	if m := find(used, map[string]string{"namespace": "shop", "persistentvolumeclaim": "files"}); m.GetGauge().GetValue() < 10000 || len(used.GetMetric()) != 1 {
		t.Errorf("used: %v", used)
	}
	for _, name := range []string{"capacity_bytes", "available_bytes", "inodes", "inodes_free", "inodes_used"} {
		if f := got["kubelet_volume_stats_"+name]; len(f.GetMetric()) != 1 || f.Metric[0].GetGauge().GetValue() == 0 {
			t.Errorf("%s: %v", name, f)
		}
	}
}
