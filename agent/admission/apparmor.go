package admission

import (
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
)

// appArmor rejects a pod with a profile on a node without AppArmor: its containers could not be created.
//
// Upstream: pkg/security/apparmor/validate.go; pkg/kubelet/lifecycle/handlers.go, NewAppArmorAdmitHandler.
func (in Inputs) appArmor() Verdict {
	if !in.NoAppArmor || !needsAppArmor(in.Pod) {
		return Verdict{OK: true}
	}
	return Verdict{Reason: "AppArmor", Message: "Cannot enforce AppArmor: AppArmor is not enabled on the host"}
}

// needsAppArmor reports whether a pod has a profile other than Unconfined, in its own field, a container's, or the older annotations.
func needsAppArmor(pod *v1.Pod) bool {
	confines := func(p *v1.AppArmorProfile) bool { return p != nil && p.Type != v1.AppArmorProfileTypeUnconfined }
	if sc := pod.Spec.SecurityContext; sc != nil && confines(sc.AppArmorProfile) {
		return true
	}
	has := func(c v1.Container) bool {
		return c.SecurityContext != nil && confines(c.SecurityContext.AppArmorProfile)
	}
	if slices.ContainsFunc(pod.Spec.InitContainers, has) || slices.ContainsFunc(pod.Spec.Containers, has) {
		return true
	}
	for key, profile := range pod.Annotations {
		if strings.HasPrefix(key, v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix) && profile != v1.DeprecatedAppArmorBetaProfileNameUnconfined {
			return true
		}
	}
	return false
}
