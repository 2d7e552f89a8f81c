package podspec

import (
	"regexp"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
)

func validatePodSecurity(spec *v1.PodSpec, path *field.Path) field.ErrorList {
	c := spec.SecurityContext
	if c == nil {
		return nil
	}
	errs := validateIDs(c.RunAsUser, c.RunAsGroup, path)
	if c.FSGroup != nil {
		errs = append(errs, messages(path.Child("fsGroup"), *c.FSGroup, validation.IsValidGroupID(*c.FSGroup))...)
	}
	for i, gid := range c.SupplementalGroups {
		errs = append(errs, messages(path.Child("supplementalGroups").Index(i), gid, validation.IsValidGroupID(gid))...)
	}
	if c.FSGroupChangePolicy != nil {
		errs = append(errs, oneOf(path.Child("fsGroupChangePolicy"), *c.FSGroupChangePolicy, v1.FSGroupChangeOnRootMismatch, v1.FSGroupChangeAlways)...)
	}
	if c.SupplementalGroupsPolicy != nil {
		errs = append(errs, oneOf(path.Child("supplementalGroupsPolicy"), *c.SupplementalGroupsPolicy, v1.SupplementalGroupsPolicyMerge, v1.SupplementalGroupsPolicyStrict)...)
	}
	names := sets.New[string]()
	for i, s := range c.Sysctls {
		at := path.Child("sysctls").Index(i).Child("name")
		namespace, _, _ := sysctl.GetNamespace(s.Name)
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case !isSysctl(s.Name):
			errs = append(errs, field.Invalid(at, s.Name, "must be the name of a sysctl, such as net.core.somaxconn"))
		case spec.HostNetwork && namespace == sysctl.NetNamespace, spec.HostIPC && namespace == sysctl.IPCNamespace:
			errs = append(errs, field.Invalid(at, s.Name, "belongs to the node's namespace: may not be set with hostNetwork or hostIPC"))
		}
		errs = append(errs, unique(names, at, s.Name)...)
	}
	errs = append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
	return append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
}

func validateSecurity(c *v1.SecurityContext, hostUsers bool, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := validateIDs(c.RunAsUser, c.RunAsGroup, path)
	if c.ProcMount != nil {
		errs = append(errs, oneOf(path.Child("procMount"), *c.ProcMount, v1.DefaultProcMount, v1.UnmaskedProcMount)...)
		if hostUsers && *c.ProcMount == v1.UnmaskedProcMount {
			errs = append(errs, field.Invalid(path.Child("procMount"), *c.ProcMount, "needs hostUsers: false"))
		}
	}
	if e := c.AllowPrivilegeEscalation; e != nil && !*e && c.Privileged != nil && *c.Privileged {
		errs = append(errs, field.Invalid(path.Child("allowPrivilegeEscalation"), false, "may not be false in a privileged container"))
	}
	errs = append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
	return append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
}

// validateAppArmor is like validateSeccomp, but the profile is a name.
//
// Upstream: pkg/apis/core/validation/validation.go, ValidateAppArmorProfileField.
func validateAppArmor(p *v1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), p.Type,
		v1.AppArmorProfileTypeUnconfined, v1.AppArmorProfileTypeRuntimeDefault, v1.AppArmorProfileTypeLocalhost)
	at, local, name := path.Child("localhostProfile"), p.Type == v1.AppArmorProfileTypeLocalhost, p.LocalhostProfile
	const longest = 4095 // the kernel's for paths
	switch {
	case local && (name == nil || strings.TrimSpace(*name) == ""):
		errs = append(errs, field.Required(at, "type Localhost needs it"))
	case local && strings.TrimSpace(*name) != *name:
		errs = append(errs, field.Invalid(at, *name, "may not begin or end with a space"))
	case local && len(*name) > longest:
		errs = append(errs, field.TooLong(at, "", longest))
	case !local && name != nil:
		errs = append(errs, field.Forbidden(at, "only for type Localhost"))
	}
	return errs
}

func validateIDs(user, group *int64, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if user != nil {
		errs = append(errs, messages(path.Child("runAsUser"), *user, validation.IsValidUserID(*user))...)
	}
	if group != nil {
		errs = append(errs, messages(path.Child("runAsGroup"), *group, validation.IsValidGroupID(*group))...)
	}
	return errs
}

func validateSeccomp(p *v1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	errs := oneOf(path.Child("type"), p.Type,
		v1.SeccompProfileTypeUnconfined, v1.SeccompProfileTypeRuntimeDefault, v1.SeccompProfileTypeLocalhost)
	local := p.Type == v1.SeccompProfileTypeLocalhost
	switch {
	case local && (p.LocalhostProfile == nil || *p.LocalhostProfile == ""):
		errs = append(errs, field.Required(path.Child("localhostProfile"), "type Localhost needs it"))
	case local:
		errs = append(errs, validateDescending(path.Child("localhostProfile"), *p.LocalhostProfile)...)
	case p.LocalhostProfile != nil:
		errs = append(errs, field.Forbidden(path.Child("localhostProfile"), "only for type Localhost"))
	}
	return errs
}

func isSysctl(name string) bool {
	const segment = `[a-z0-9]([-_a-z0-9]*[a-z0-9])?`
	return len(name) <= 253 && regexp.MustCompile(`^(`+segment+`[./])*`+segment+`$`).MatchString(name)
}

// validateUserNamespace reports what cannot be combined with hostUsers: false. Admission decides about hostNetwork: it is possible with the
// feature UserNamespacesHostNetworkSupport.
//
// Upstream: pkg/apis/core/validation/validation.go, validateHostUsers.
func validateUserNamespace(s *v1.PodSpec, path *field.Path) field.ErrorList {
	if s.HostUsers == nil || *s.HostUsers {
		return nil
	}
	const why = "when `hostUsers` is false"
	var errs field.ErrorList
	if s.HostPID {
		errs = append(errs, field.Forbidden(path.Child("hostPID"), why))
	}
	if s.HostIPC {
		errs = append(errs, field.Forbidden(path.Child("hostIPC"), why))
	}
	devices := func(name string, list []v1.Container) {
		for i := range list {
			if len(list[i].VolumeDevices) > 0 {
				errs = append(errs, field.Forbidden(path.Child(name).Index(i).Child("volumeDevices"), why))
			}
		}
	}
	devices("initContainers", s.InitContainers)
	devices("containers", s.Containers)
	return errs
}
