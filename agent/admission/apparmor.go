package admission

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/criconfig"
	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

// appArmor rejects a pod with a profile on a node without AppArmor, or with a profile of the node that has no name: its containers could not
// be created. A pod that has run is not checked.
//
// Upstream: pkg/security/apparmor/validate.go; pkg/kubelet/lifecycle/handlers.go, NewAppArmorAdmitHandler.
func (in Inputs) appArmor() Verdict {
	if cmp.Or(in.Pod.Status.Phase, v1.PodPending) != v1.PodPending || !needsAppArmor(in.Pod) {
		return Verdict{OK: true}
	}
	if in.NoAppArmor {
		return noAppArmor("AppArmor is not enabled on the host")
	}
	for c := range containers(in.Pod) {
		if p := criconfig.AppArmor(in.Pod, c); p != nil && p.Type == v1.AppArmorProfileTypeLocalhost && blank(p.LocalhostProfile) {
			return noAppArmor(fmt.Sprintf("invalid empty AppArmor profile name: %q", p))
		}
	}
	return Verdict{OK: true}
}

func noAppArmor(why string) Verdict {
	return Verdict{Reason: "AppArmor", Message: "Cannot enforce AppArmor: " + why}
}

// needsAppArmor reports whether a pod has a profile other than Unconfined, in its own field, a container's, or the older annotations.
func needsAppArmor(pod *v1.Pod) bool {
	confines := func(p *v1.AppArmorProfile) bool { return p != nil && p.Type != v1.AppArmorProfileTypeUnconfined }
	if sc := pod.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	for c := range containers(pod) {
		if c.SecurityContext != nil && confines(c.SecurityContext.AppArmorProfile) {
			return true
		}
	}
	for key, profile := range pod.Annotations {
		if strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && profile != v1.DeprecatedAppArmorBetaProfileNameUnconfined {
			return true
		}
	}
	return false
}

// containers yields all containers of the pod, ephemeral ones last.
func containers(pod *v1.Pod) iter.Seq[*v1.Container] {
	return func(yield func(*v1.Container) bool) {
		for c := range podspec.Each(pod) {
			if !yield(c) {
				return
			}
		}
		for i := range pod.Spec.EphemeralContainers {
			if !yield((*v1.Container)(&pod.Spec.EphemeralContainers[i].EphemeralContainerCommon)) {
				return
			}
		}
	}
}

func blank(s *string) bool { return s == nil || strings.TrimSpace(*s) == "" }
