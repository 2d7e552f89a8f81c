package podruntime

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Volumes in memory that become smaller and larger are told apart; others do not change.
func TestVolumesToResize(t *testing.T) {
	p := &v1.Pod{}
	has := map[string]resource.Quantity{}
	for _, v := range []struct{ name, medium, has, wants string }{
		{"same", "Memory", "1Mi", "1024Ki"},
		{"smaller", "Memory", "2Mi", "1Mi"},
		{"larger", "Memory", "1Mi", "2Mi"},
		{"lost", "Memory", "0", "1Mi"},
		{"unknown", "Memory", "", "1Mi"},
		{"disk", "", "1Mi", "2Mi"},
		{"unlimited", "Memory", "1Mi", "0"},
	} {
		p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: v.name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{
			Medium: v1.StorageMedium(v.medium), SizeLimit: new(resource.MustParse(v.wants)),
		}}})
		if v.has != "" {
			has[v.name] = resource.MustParse(v.has)
		}
	}
	smaller, larger := volumesToResize(p, func(name string) (resource.Quantity, bool) {
		q, ok := has[name]
		return q, ok
	})
	if got, want := strings.Join(smaller, " ")+"; "+strings.Join(larger, " "), "smaller; larger lost"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if smaller, larger = volumesToResize(p, nil); len(smaller)+len(larger) > 0 {
		t.Error("volumes change without the feature gate")
	}
}

// A volume becomes smaller before the pod's cgroup changes, and larger after that. A volume that cannot be resized fails the resize. Nothing
// changes if the pod uses more memory than it will have.
func TestResizeVolumes(t *testing.T) {
	for _, tc := range []struct {
		name, has, wants, fails, want string
		more                          bool // memory than the pod will have is in use
	}{
		{name: "larger", has: "1Mi", wants: "2Mi", want: "pod 64Mi, pod 64Mi, volume v, done"},
		{name: "smaller", has: "2Mi", wants: "1Mi", want: "volume v, pod 64Mi, pod 64Mi, done"},
		{name: "the same", has: "1Mi", wants: "1Mi"},
		{name: "too much in it", has: "2Mi", wants: "1Mi", fails: "invalid argument", want: "volume v"},
		{
			name: "more memory in use", has: "2Mi", wants: "1Mi", more: true,
			fails: `cannot decrease memory limits: attempting to set pod memory limit (67108864) below current usage (67108865)`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, w *world) {
				c := sized(containerNamed("web"), "1", "64Mi")
				f := &fakeResizes{world: w, given: map[string]v1.ResourceRequirements{"web": c.Resources, "": {}}}
				f.limits = map[string]resource.Quantity{"v": resource.MustParse(tc.has)}
				if tc.more {
					f.given["web"], f.pod = sized(c, "1", "128Mi").Resources, 64<<20+1
				}
				w.rt.cfg.Resizes, w.rt.cfg.Updates, w.rt.cfg.PodLimits = f, f, f
				w.rt.cfg.ResizeVolume = func(_ *v1.Pod, name string) error {
					err := f.do(t.Context(), "volume "+name)
					if tc.fails != "" && !tc.more {
						err = errors.New(tc.fails)
					}
					return err
				}
				w.show(seen("sandbox:0", "web=running"))
				pod := podOf(v1.RestartPolicyAlways, c)
				pod.Spec.Volumes = []v1.Volume{{Name: "v", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{
					Medium: v1.StorageMediumMemory, SizeLimit: new(resource.MustParse(tc.wants)),
				}}}}
				w.rt.learn(pod.UID, func(k *knowledge) { k.mounted = true })
				w.setCgroup(true)
				if err := os.MkdirAll(filepath.Join(w.rt.cfg.RootDir, "pods", "uid"), 0o750); err != nil {
					t.Fatal(err)
				}
				_, err := w.rt.Sync(t.Context(), pod, 1, nil)
				if (err != nil) != (tc.fails != "") || f.failed != tc.fails {
					t.Errorf("error %v, said %q, want %q", err, f.failed, tc.fails)
				}
				equal(t, "did", tc.want, strings.Join(w.did(), ", "))
				limit, want := f.limits["v"], tc.wants
				if tc.fails != "" {
					want = tc.has
				}
				equal(t, "limit", want, limit.String())
			})
		})
	}
}
