package stats

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	statsapi "k8s.io/kubelet/pkg/apis/stats/v1alpha1"

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
	s.cfg.Volumes = func(*v1.Pod) map[string]Volume { return map[string]Volume{"data": {Path: dir}} }
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

// A claim has all figures, and those that nobody knows are 0. Without any, it has none.
func TestClaims(t *testing.T) {
	device := filepath.Join(t.TempDir(), "device")
	if err := os.WriteFile(device, make([]byte, 3<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	plain := t.TempDir()
	for name, c := range map[string]struct {
		at   Volume
		want map[string]float64 // nil for none
		some bool               // the figures are those of a file system
	}{
		"a device":                   {at: Volume{Path: device, Block: true}, want: map[string]float64{"capacity_bytes": 3 << 20}},
		"a device that is gone":      {at: Volume{Path: device + "s", Block: true}},
		"a directory of the node":    {at: Volume{Path: plain}, some: true},
		"a directory that is gone":   {at: Volume{Path: plain + "/none"}},
		"it is not set up":           {},
		"a driver that knows little": {at: Volume{Path: plain, Ask: figure(7, true)}, want: map[string]float64{"used_bytes": 7}},
		"a driver that knows none":   {at: Volume{Path: plain, Ask: figure(7, false)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := world(t)
			claim := v1.VolumeSource{PersistentVolumeClaim: &v1.PersistentVolumeClaimVolumeSource{ClaimName: "files"}}
			pods := s.cfg.Pods()
			pods[0].Spec.Volumes = []v1.Volume{{Name: "data", VolumeSource: claim}}
			s.cfg.Pods = func() []v1.Pod { return pods }
			s.answers.period = time.Minute
			s.cfg.Volumes = func(*v1.Pod) map[string]Volume { return map[string]Volume{"data": c.at} }
			walk := s.usage.walk
			s.usage.walk = func(ctx context.Context, dir string) held {
				if dir == plain {
					t.Error("it was walked")
				}
				return walk(ctx, dir)
			}
			got := scrape(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var page exposition.Page
				s.KubeletMetrics(r.Context(), &page)
				page.Answer(w, r)
			}))
			for _, name := range []string{"capacity_bytes", "available_bytes", "used_bytes", "inodes", "inodes_free", "inodes_used"} {
				f := got["kubelet_volume_stats_"+name].GetMetric()
				switch {
				case c.want == nil && !c.some:
					if len(f) != 0 {
						t.Errorf("%s: %v", name, f)
					}
				case len(f) != 1, c.some && name == "used_bytes" && f[0].GetGauge().GetValue() == 0, !c.some && f[0].GetGauge().GetValue() != c.want[name]:
					t.Errorf("%s: %v, want %v", name, f, c.want[name])
				}
			}
			sum, err := s.Pods(t.Context(), nil)
			known := c.want != nil || c.some
			if err != nil || len(sum[0].VolumeStats) == 1 != known || known && (sum[0].VolumeStats[0].PVCRef.Name != "files" || sum[0].VolumeStats[0].InodesFree == nil) {
				t.Errorf("%+v, %v", sum, err)
			}
			if *sum[0].EphemeralStorage.UsedBytes != 4096+*sum[0].Containers[0].Logs.UsedBytes {
				t.Error("it counts as the pod's ephemeral storage")
			}
		})
	}
}

func figure(used uint64, ok bool) func(context.Context) (statsapi.FsStats, bool) {
	return func(context.Context) (statsapi.FsStats, bool) { return statsapi.FsStats{UsedBytes: &used}, ok }
}
