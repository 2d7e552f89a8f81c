package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// mountsMap has the pod's app container mount a ConfigMap.
func mountsMap(p *v1.Pod, name string) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "settings", VolumeSource: v1.VolumeSource{
		ConfigMap: &v1.ConfigMapVolumeSource{LocalObjectReference: v1.LocalObjectReference{Name: name}},
	}})
	c := &p.Spec.Containers[0]
	c.VolumeMounts = append(c.VolumeMounts, v1.VolumeMount{Name: "settings", MountPath: "/settings"})
	podspec.SetDefaults(p)
	return p
}

func objectAgain() []fault {
	all := []fault{
		object("r2-map-3s-late", "The ConfigMap of a volume is created 3 s after the pod; then the pod starts.", func(s *scene) {
			s.create(mountsMap(s.pod("web"), "settings"))
			s.lasts(3 * time.Second)
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.ready("web")
		}),
		fits("r2-key-optional", "A variable is to come from a key that its ConfigMap does not have, and is optional: the pod starts.", func(s *scene) {
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.create(fromMap(fromMap(s.pod("web"), "settings", "mode", nil), "settings", "color", new(true)))
			s.ready("web")
		}),
		fits("r2-map-before", "The ConfigMap of a volume was created just before the pod: the pod starts.", func(s *scene) {
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.create(mountsMap(s.pod("web"), "settings"))
			s.ready("web")
		}),
	}
	for i := range all {
		if len(all[i].want) == 0 {
			all[i].silent = allBut()
		}
	}
	return all
}
