package podspec

import (
	"math"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// Validate reports everything that prevents a pod from being run as written, each with its field path. Call SetDefaults
// first. It covers the fields that a node agent uses. So it does not check scheduling (affinity, spread, gates),
// Windows, and volumes of plugins that kubeloupe does not have. It rejects two values that upstream accepts and that
// then fail at every start: a hostIP that is not an address and an unknown emptyDir medium. Upstream:
// pkg/apis/core/validation/validation.go, ValidatePodCreate.
func Validate(p *v1.Pod) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&p.ObjectMeta, true, apivalidation.NameIsDNSSubdomain, field.NewPath("metadata"))
	return append(errs, validateSpec(&p.Spec, field.NewPath("spec"))...)
}

func validateSpec(s *v1.PodSpec, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("restartPolicy"), s.RestartPolicy,
		v1.RestartPolicyAlways, v1.RestartPolicyOnFailure, v1.RestartPolicyNever)
	errs = append(errs, validateDNS(s, path)...)
	if s.NodeName != "" {
		errs = append(errs, messages(path.Child("nodeName"), s.NodeName, apivalidation.NameIsDNSSubdomain(s.NodeName, false))...)
	}
	if s.Hostname != "" {
		errs = append(errs, messages(path.Child("hostname"), s.Hostname, validation.IsDNS1123Label(s.Hostname))...)
	}
	errs = append(errs, validateHostnameOverride(s, path.Child("hostnameOverride"))...)
	if s.Subdomain != "" {
		errs = append(errs, messages(path.Child("subdomain"), s.Subdomain, validation.IsDNS1123Label(s.Subdomain))...)
	}
	if s.RuntimeClassName != nil {
		errs = append(errs, messages(path.Child("runtimeClassName"), *s.RuntimeClassName, apivalidation.NameIsDNSSubdomain(*s.RuntimeClassName, false))...)
	}
	if s.PriorityClassName != "" {
		errs = append(errs, messages(path.Child("priorityClassName"), s.PriorityClassName, apivalidation.NameIsDNSSubdomain(s.PriorityClassName, false))...)
	}
	errs = append(errs, validateTolerations(s.Tolerations, path.Child("tolerations"))...)
	if d := s.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *d, validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	for i, alias := range s.HostAliases {
		at := path.Child("hostAliases").Index(i)
		errs = append(errs, validateIP(at.Child("ip"), alias.IP)...)
		for j, name := range alias.Hostnames {
			errs = append(errs, messages(at.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))...)
		}
	}
	if s.ShareProcessNamespace != nil && *s.ShareProcessNamespace && s.HostPID {
		errs = append(errs, field.Invalid(path.Child("shareProcessNamespace"), true, "may not be true together with hostPID"))
	}
	errs = append(errs, validateUserNamespace(s, path)...)
	errs = append(errs, validatePodSecurity(s, path.Child("securityContext"))...)
	if s.OS != nil {
		errs = append(errs, oneOf(path.Child("os", "name"), s.OS.Name, v1.Linux)...)
	}
	errs = append(errs, validateVolumes(s.Volumes, path.Child("volumes"))...)
	errs = append(errs, validatePodResources(s, path)...)
	return append(errs, validateContainers(s, path)...)
}

func validateContainers(s *v1.PodSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	volumes := map[string]v1.VolumeSource{}
	for i := range s.Volumes {
		volumes[s.Volumes[i].Name] = s.Volumes[i].VolumeSource
	}
	if len(s.Containers) == 0 {
		errs = append(errs, field.Required(path.Child("containers"), "a pod needs at least one container"))
	}
	names, hostPorts, hostUsers := sets.New[string](), sets.New[string](), s.HostUsers == nil || *s.HostUsers
	for i := range s.Containers {
		c, at := &s.Containers[i], path.Child("containers").Index(i)
		errs = append(errs, unique(names, at.Child("name"), c.Name)...)
		errs = append(errs, validateContainer(c, volumes, hostUsers, at)...)
		errs = append(errs, validateHostPorts(c, hostPorts, at)...)
		errs = append(errs, validateProbes(c, s.TerminationGracePeriodSeconds, at)...)
		errs = append(errs, validateStopSignal(c, s.OS, at)...)
	}
	for i := range s.InitContainers {
		c, at := &s.InitContainers[i], path.Child("initContainers").Index(i)
		errs = append(errs, unique(names, at.Child("name"), c.Name)...)
		errs = append(errs, validateContainer(c, volumes, hostUsers, at)...)
		errs = append(errs, validateHostPorts(c, sets.New[string](), at)...)
		if RestartableInit(c) {
			errs = append(errs, validateProbes(c, s.TerminationGracePeriodSeconds, at)...)
			errs = append(errs, validateStopSignal(c, s.OS, at)...)
			continue
		}
		errs = append(errs, forbidProbes(c, at)...)
	}
	if len(s.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(path.Child("ephemeralContainers"), "cannot be set on create"))
	}
	return errs
}

// Upstream: pkg/apis/core/validation/validation.go, validateHostnameOverride.
func validateHostnameOverride(s *v1.PodSpec, path *field.Path) field.ErrorList {
	if s.HostnameOverride == nil {
		return nil
	}
	errs := messages(path, *s.HostnameOverride, validation.IsDNS1123Subdomain(*s.HostnameOverride))
	const longest = 64 // the kernel's
	if len(*s.HostnameOverride) > longest {
		errs = append(errs, field.TooLong(path, "", longest))
	}
	if s.HostNetwork || s.SetHostnameAsFQDN != nil && *s.SetHostnameAsFQDN {
		errs = append(errs, field.Forbidden(path, "may not be set together with hostNetwork or setHostnameAsFQDN"))
	}
	return errs
}

func validateDNS(s *v1.PodSpec, path *field.Path) field.ErrorList {
	errs := oneOf(path.Child("dnsPolicy"), s.DNSPolicy,
		v1.DNSClusterFirstWithHostNet, v1.DNSClusterFirst, v1.DNSDefault, v1.DNSNone)
	at := path.Child("dnsConfig")
	if s.DNSPolicy == v1.DNSNone && (s.DNSConfig == nil || len(s.DNSConfig.Nameservers) == 0) {
		return append(errs, field.Required(at.Child("nameservers"), "dnsPolicy None needs at least one"))
	}
	if s.DNSConfig == nil {
		return errs
	}
	const maxNameservers, maxSearches = 3, 32
	if n := len(s.DNSConfig.Nameservers); n > maxNameservers {
		errs = append(errs, field.TooMany(at.Child("nameservers"), n, maxNameservers))
	}
	if n := len(s.DNSConfig.Searches); n > maxSearches {
		errs = append(errs, field.TooMany(at.Child("searches"), n, maxSearches))
	}
	for i, server := range s.DNSConfig.Nameservers {
		errs = append(errs, validateIP(at.Child("nameservers").Index(i), server)...)
	}
	for i, search := range s.DNSConfig.Searches {
		if search != "." {
			errs = append(errs, messages(at.Child("searches").Index(i), search,
				validation.IsDNS1123SubdomainWithUnderscore(strings.TrimSuffix(search, ".")))...)
		}
	}
	for i, option := range s.DNSConfig.Options {
		if option.Name == "" {
			errs = append(errs, field.Required(at.Child("options").Index(i).Child("name"), ""))
		}
	}
	return errs
}

func validateTolerations(tolerations []v1.Toleration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, t := range tolerations {
		at := path.Index(i)
		if t.Key != "" {
			errs = append(errs, messages(at.Child("key"), t.Key, validation.IsQualifiedName(t.Key))...)
		} else if t.Operator != v1.TolerationOpExists {
			errs = append(errs, field.Invalid(at.Child("operator"), t.Operator, "must be Exists when there is no key"))
			continue
		}
		errs = append(errs, oneOf(at.Child("operator"), t.Operator, "", v1.TolerationOpEqual, v1.TolerationOpExists)...)
		if t.Operator == v1.TolerationOpExists && t.Value != "" {
			errs = append(errs, field.Invalid(at.Child("value"), t.Value, "must be empty when operator is Exists"))
		} else {
			errs = append(errs, messages(at.Child("value"), t.Value, validation.IsValidLabelValue(t.Value))...)
		}
		if t.TolerationSeconds != nil && t.Effect != v1.TaintEffectNoExecute {
			errs = append(errs, field.Invalid(at.Child("effect"), t.Effect, "must be NoExecute when tolerationSeconds is set"))
		}
		errs = append(errs, oneOf(at.Child("effect"), t.Effect,
			"", v1.TaintEffectNoSchedule, v1.TaintEffectPreferNoSchedule, v1.TaintEffectNoExecute)...)
	}
	return errs
}

// oneOf reports a value that is not among the allowed ones.
func oneOf[T ~string](path *field.Path, value T, allowed ...T) field.ErrorList {
	if slices.Contains(allowed, value) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, value, allowed)}
}

// messages converts the messages of apimachinery's checks to errors at path.
func messages(path *field.Path, value any, msgs []string) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(path, value, msg))
	}
	return errs
}

// unique reports a name that is already in seen; an empty one is reported elsewhere.
func unique(seen sets.Set[string], path *field.Path, name string) field.ErrorList {
	if name == "" {
		return nil
	}
	if seen.Has(name) {
		return field.ErrorList{field.Duplicate(path, name)}
	}
	seen.Insert(name)
	return nil
}
