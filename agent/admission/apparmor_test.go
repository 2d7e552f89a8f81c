package admission

import (
	"strings"
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
			p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: new("k8s-web")}}
		}), true},
		{"an ephemeral container's", with(func(p *v1.Pod) {
			p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{
				SecurityContext: &v1.SecurityContext{AppArmorProfile: of(v1.AppArmorProfileTypeRuntimeDefault)},
			}}}
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

// A profile of the node must have a name. A pod that has run is not checked, nor is one that the node has no room for.
func TestAppArmorName(t *testing.T) {
	local := func(name *string) *v1.AppArmorProfile {
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: name}
	}
	pod := func(edits ...func(*v1.Pod)) *v1.Pod {
		p := podWith("p")
		p.Spec.SecurityContext = &v1.PodSecurityContext{AppArmorProfile: local(nil)}
		for _, edit := range edits {
			edit(p)
		}
		return p
	}
	own := func(p *v1.Pod) {
		p.Spec.Containers[0].SecurityContext = &v1.SecurityContext{AppArmorProfile: local(new("k8s-web"))}
	}
	ephemeral := func(p *v1.Pod) {
		p.Spec.EphemeralContainers = []v1.EphemeralContainer{{EphemeralContainerCommon: v1.EphemeralContainerCommon{Name: "debug"}}}
	}
	running := func(p *v1.Pod) { p.Status.Phase = v1.PodRunning }
	annotated := func(p *v1.Pod) {
		p.Annotations = map[string]string{v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix + "c": v1.DeprecatedAppArmorBetaProfileNamePrefix}
	}
	const text = "Cannot enforce AppArmor: "
	for _, c := range []struct {
		name   string
		in     Inputs
		reason string
		says   string
	}{
		{"of the pod", Inputs{Pod: pod()}, "AppArmor", text + `invalid empty AppArmor profile name: "&AppArmorProfile{Type:Localhost,LocalhostProfile:nil,}"`},
		{"of the pod, but its containers have their own", Inputs{Pod: pod(own)}, "", ""},
		{"of the pod, for an ephemeral container", Inputs{Pod: pod(own, ephemeral)}, "AppArmor", text + "invalid empty"},
		{"in an annotation", Inputs{Pod: pod(annotated)}, "AppArmor", text + "invalid empty"},
		{"of a pod that has run", Inputs{Pod: pod(running)}, "", ""},
		{"of a pod that has run, without AppArmor", Inputs{Pod: pod(running), NoAppArmor: true}, "", ""},
		{"without AppArmor", Inputs{Pod: pod(), NoAppArmor: true}, "AppArmor", text + "AppArmor is not enabled on the host"},
		{"on a full node", Inputs{Pod: pod(), Others: []*v1.Pod{podWith("a")}, MaxPods: 1}, "OutOfpods", ""},
		{"during a shutdown", Inputs{Pod: pod(), ShuttingDown: true}, "AppArmor", ""},
	} {
		if v := Check(c.in); v.Reason != c.reason || !strings.HasPrefix(v.Message, c.says) {
			t.Errorf("%s: %+v, want %s: %s", c.name, v, c.reason, c.says)
		}
	}
}
