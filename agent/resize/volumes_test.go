package resize

import (
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/kubeloupe/kubeloupe/trace"
)

// withVolumes returns a pod with a volume in memory with that limit, and others that cannot be resized.
func withVolumes(limit string) *v1.Pod {
	p := podWith("1", 1)
	volume := func(name string, medium v1.StorageMedium, limit string) v1.Volume {
		return v1.Volume{Name: name, VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: medium, SizeLimit: new(resource.MustParse(limit))}}}
	}
	p.Spec.Volumes = []v1.Volume{
		volume("memory", v1.StorageMediumMemory, limit), volume("disk", "", limit), volume("unlimited", v1.StorageMediumMemory, "0"),
		{Name: "none", VolumeSource: v1.VolumeSource{EmptyDir: &v1.EmptyDirVolumeSource{Medium: v1.StorageMediumMemory}}},
	}
	return p
}

func limits(p *v1.Pod) string {
	return p.Spec.Volumes[0].EmptyDir.SizeLimit.String() + " " + p.Spec.Volumes[1].EmptyDir.SizeLimit.String()
}

// The limit of a volume in memory is allocated and actuated as other resources are, and the next agent knows it.
func TestVolumes(t *testing.T) {
	room := false
	cfg := Config{Dir: t.TempDir(), Volumes: true, Admit: func(*v1.Pod, []*v1.Pod) Verdict { return Verdict{Fits: room, Reason: "OutOfcpu", Message: "no room"} }}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what, allocated, given string) {
		t.Helper()
		limit, known := m.Limit("u", "memory")
		if got := limits(m.Pod(withVolumes("9Mi"))); got != allocated || !known || limit.String() != given {
			t.Errorf("%s: allocated %s, it has %s (known: %t); want %s, %s", what, got, limit.String(), known, allocated, given)
		}
	}
	m.Add(withVolumes("1Mi"))
	check("new", "1Mi 9Mi", "1Mi")
	if now, _ := m.Update(t.Context(), withVolumes("2Mi"), nil, trace.ResizeForUpdated); limits(now) != "1Mi 2Mi" {
		t.Errorf("refused: %s", limits(now))
	}
	room = true
	if now, _ := m.Update(t.Context(), withVolumes("2Mi"), nil, trace.ResizeForUpdated); limits(now) != "2Mi 2Mi" {
		t.Errorf("accepted: %s", limits(now))
	}
	check("accepted", "2Mi 9Mi", "1Mi")
	for _, name := range []string{"disk", "unlimited", "none", "unknown"} {
		if _, known := m.Limit("u", name); known {
			t.Errorf("volume %s has a limit that can change", name)
		}
	}
	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	check("the next agent", "2Mi 9Mi", "1Mi")
	m.Add(withVolumes("2Mi"))
	if got := m.Conditions("u"); len(got) != 1 || got[0].Type != v1.PodResizeInProgress {
		t.Errorf("conditions %+v", got)
	}
	if err := m.Limited(withVolumes("2Mi"), "memory"); err != nil {
		t.Fatal(err)
	}
	check("actuated", "2Mi 9Mi", "2Mi")

	cfg.Volumes = false
	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if got := limits(m.Pod(withVolumes("9Mi"))); got != "9Mi 9Mi" {
		t.Errorf("without the feature gate: %s", got)
	}
	if err := m.store(); err != nil {
		t.Fatal(err)
	}
	cfg.Volumes = true
	if m, err = New(cfg); err != nil {
		t.Fatal(err)
	}
	if got := m.Add(withVolumes("3Mi")); !strings.HasPrefix(limits(got), "3Mi") {
		t.Errorf("after an agent without the feature gate: %s", limits(got))
	}
}
