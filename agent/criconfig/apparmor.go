package criconfig

import (
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// AppArmor returns the container's profile, or nil: from its own field, the pod's annotation for it, or the pod's
// field.
//
// Upstream: pkg/security/apparmor/helpers.go, GetProfile.
func AppArmor(pod *v1.Pod, c *v1.Container) *v1.AppArmorProfile {
	if c.SecurityContext != nil && c.SecurityContext.AppArmorProfile != nil {
		return c.SecurityContext.AppArmorProfile
	}
	text := pod.Annotations[v1.DeprecatedAppArmorBetaContainerAnnotationKeyPrefix+c.Name]
	switch {
	case text == v1.DeprecatedAppArmorBetaProfileRuntimeDefault:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeRuntimeDefault}
	case text == v1.DeprecatedAppArmorBetaProfileNameUnconfined:
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeUnconfined}
	case strings.HasPrefix(text, v1.DeprecatedAppArmorBetaProfileNamePrefix):
		name := strings.TrimPrefix(text, v1.DeprecatedAppArmorBetaProfileNamePrefix)
		return &v1.AppArmorProfile{Type: v1.AppArmorProfileTypeLocalhost, LocalhostProfile: &name}
	}
	return podSecurity(pod).AppArmorProfile
}

// setAppArmor sets the profile in the CRI's current form and in the older one, for older runtimes.
//
// Upstream: pkg/kubelet/kuberuntime/helpers.go, getAppArmorProfile.
func setAppArmor(sc *runtimeapi.LinuxContainerSecurityContext, p *v1.AppArmorProfile) error {
	if p == nil {
		return nil
	}
	profile, old := &runtimeapi.SecurityProfile{}, ""
	switch p.Type {
	case v1.AppArmorProfileTypeRuntimeDefault:
		profile.ProfileType = runtimeapi.SecurityProfile_RuntimeDefault
		old = v1.DeprecatedAppArmorBetaProfileRuntimeDefault
	case v1.AppArmorProfileTypeUnconfined:
		profile.ProfileType = runtimeapi.SecurityProfile_Unconfined
		old = v1.DeprecatedAppArmorBetaProfileNameUnconfined
	case v1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			return errors.New("localhostProfile must be set for type Localhost")
		}
		profile.ProfileType, profile.LocalhostRef = runtimeapi.SecurityProfile_Localhost, *p.LocalhostProfile
		old = v1.DeprecatedAppArmorBetaProfileNamePrefix + *p.LocalhostProfile
	default:
		return fmt.Errorf("type %q: want RuntimeDefault, Unconfined or Localhost", p.Type)
	}
	sc.Apparmor = profile
	sc.ApparmorProfile = old //nolint:staticcheck // older runtimes read only this
	return nil
}
