package admission

import (
	"testing"

	v1 "k8s.io/api/core/v1"
)

func TestAppArmor(t *testing.T) {
	of := func(kind v1.AppArmorProfileType) *v1.AppArmorProfile { return &v1.AppArmorProfile{Type: kind} }
	with := func(change func(*v1.Pod)) *v1.Pod {
		p := podWith("p")
		p.Spec.InitContainers = []v1.Container{{Name: "i"}}
		change(p)
		return p
	}
	const annotation = v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "c"
	for _, c := range []struct {
		name  string
		pod   *v1.Pod
		needs bool
	}{
		{"no profile", with(func(*v1.Pod) {}), false},
		{"the pod's", with(func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: of(v1.AppArmorProfileTypeRuntimeDefault)}
		}), true},
		{"the pod's, unconfined", with(func(p *v1.Pod) {
			p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: of(v1.AppArmorProfileTypeUnconfined)}
		}), false},
		{"a container's", with(func(p *v1.Pod) {
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: of(v1.AppArmorProfileTypeLocalhost)}
		}), true},
		{"an init container's", with(func(p *v1.Pod) {
			p.Spec.InitContainers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: of(v1.AppArmorProfileTypeRuntimeDefault)}
		}), true},
		{"an annotation's", with(func(p *v1.Pod) {
			p.Annotations = map[string]string{annotation: v1.DeprecatedAppArmorBetaProfileRuntimeDefault}
		}), true},
		{"an annotation's, unconfined", with(func(p *v1.Pod) {
			p.Annotations = map[string]string{annotation: v1.DeprecatedAppArmorBetaProfileNameUnconfined}
		}), false},
	} {
		if v := Check(Inputs{Pod: c.pod}); !v.OK {
			t.Errorf("%s, with AppArmor: %+v", c.name, v)
		}
		v := Check(Inputs{Pod: c.pod, NoAppArmor: true})
		if v.OK == c.needs || c.needs && v.Reason != "AppArmor" {
			t.Errorf("%s, without AppArmor: %+v, want rejected: %t", c.name, v, c.needs)
		}
	}
}
