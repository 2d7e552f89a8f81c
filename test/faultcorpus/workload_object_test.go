package faultcorpus_test

import (
	"time"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// object is a case of a pod that refers to objects of the API.
func object(name, does string, cause func(*scene)) fault {
	return fault{
		name: name, class: workload, does: does, want: []string{"KL34"}, may: []string{"KL10"}, silent: []string{"KL11", "KL15", "KL31", "KL33", "KL36"},
		cluster: true, make: cause,
	}
}

// fits is a case of a pod whose objects are there, as far as it needs them.
func fits(name, does string, cause func(*scene)) fault {
	f := object(name, does, cause)
	f.want, f.may, f.silent = nil, nil, []string{"KL34", "KL10", "KL11", "KL31", "KL15"}
	return f
}

// fromMap has the pod's app container take a variable from a key of a ConfigMap.
func fromMap(p *v1.Pod, name, key string, optional *bool) *v1.Pod {
	p.Spec.Containers[0].Env = append(p.Spec.Containers[0].Env, v1.EnvVar{Name: "SETTING_" + key, ValueFrom: &v1.EnvVarSource{
		ConfigMapKeyRef: &v1.ConfigMapKeySelector{LocalObjectReference: v1.LocalObjectReference{Name: name}, Key: key, Optional: optional},
	}})
	return p
}

// fromSecret has the pod's app container mount a Secret.
func fromSecret(p *v1.Pod, name string, optional *bool) *v1.Pod {
	p.Spec.Volumes = append(p.Spec.Volumes, v1.Volume{Name: "secret", VolumeSource: v1.VolumeSource{
		Secret: &v1.SecretVolumeSource{SecretName: name, Optional: optional},
	}})
	p.Spec.Containers[0].VolumeMounts = append(p.Spec.Containers[0].VolumeMounts, v1.VolumeMount{Name: "secret", MountPath: "/secret", ReadOnly: true})
	podspec.SetDefaults(p)
	return p
}

func objectFaults() []fault {
	return []fault{
		object("object-map-missing", "A variable is to come from a ConfigMap that does not exist.", func(s *scene) {
			s.create(fromMap(s.pod("web"), "settings", "mode", nil))
			s.lasts(20 * time.Second)
		}),
		object("object-secret-missing", "A volume is to be a Secret that does not exist.", func(s *scene) {
			s.create(fromSecret(s.pod("web"), "password", nil))
			s.lasts(20 * time.Second)
		}),
		object("object-key-missing", "A variable is to come from a key that its ConfigMap does not have.", func(s *scene) {
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.create(fromMap(fromMap(s.pod("web"), "settings", "mode", nil), "settings", "color", nil))
			s.lasts(20 * time.Second)
		}),
		object("object-map-late", "A ConfigMap is created 8 s after the pod; then the pod starts.", func(s *scene) {
			s.create(fromMap(s.pod("web"), "settings", "mode", nil))
			s.lasts(8 * time.Second)
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.ready("web")
		}),
		fits("object-optional", "The ConfigMap of a variable and the Secret of a volume do not exist, and are optional: the pod starts.", func(s *scene) {
			s.create(fromSecret(fromMap(s.pod("web"), "settings", "mode", new(true)), "password", new(true)))
			s.ready("web")
		}),
		fits("object-present", "The ConfigMap of a variable exists, and has the key: the pod starts.", func(s *scene) {
			s.configMap("settings", map[string]string{"mode": "fast"})
			s.create(fromMap(s.pod("web"), "settings", "mode", nil))
			s.ready("web")
		}),
	}
}
