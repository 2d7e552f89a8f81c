package podspec

import (
	"fmt"
	"net/netip"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func validateContainer(c *v1.Container, volumes map[string]v1.VolumeSource, hostUsers bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if c.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, messages(path.Child("name"), c.Name, validation.IsDNS1123Label(c.Name))...)
	}
	switch trimmed := strings.TrimSpace(c.Image); {
	case trimmed == "":
		errs = append(errs, field.Required(path.Child("image"), ""))
	case trimmed != c.Image:
		errs = append(errs, field.Invalid(path.Child("image"), c.Image, "may not begin or end with a space"))
	}
	errs = append(errs, oneOf(path.Child("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)...)
	errs = append(errs, oneOf(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
		v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, validateContainerRestart(c, path)...)
	errs = append(errs, validatePorts(c.Ports, path.Child("ports"))...)
	errs = append(errs, validateEnv(c.Env, volumes, path.Child("env"))...)
	for i, from := range c.EnvFrom { // References checks references to API objects
		if from.ConfigMapRef == nil && from.SecretRef == nil {
			errs = append(errs, field.Required(path.Child("envFrom").Index(i), "one of configMapRef, secretRef"))
		}
	}
	errs = append(errs, validateMounts(c, volumes, path.Child("volumeMounts"))...)
	errs = append(errs, validateResources(&c.Resources, path.Child("resources"))...)
	errs = append(errs, validateResizePolicy(c.ResizePolicy, path.Child("resizePolicy"))...)
	return append(errs, validateSecurity(c.SecurityContext, hostUsers, path.Child("securityContext"))...)
}

func validateContainerRestart(c *v1.Container, path *field.Path) field.ErrorList {
	if c.RestartPolicy == nil {
		if len(c.RestartPolicyRules) > 0 {
			return field.ErrorList{field.Required(path.Child("restartPolicy"), "restartPolicyRules need it")}
		}
		return nil
	}
	return oneOf(path.Child("restartPolicy"), *c.RestartPolicy,
		v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyNever, v1.ContainerRestartPolicyOnFailure)
}

func validatePorts(ports []v1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range ports {
		at := path.Index(i)
		if port.Name != "" {
			errs = append(errs, messages(at.Child("name"), port.Name, validation.IsValidPortName(port.Name))...)
		}
		errs = append(errs, unique(names, at.Child("name"), port.Name)...)
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs, messages(at.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, messages(at.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))...)
		}
		if port.HostIP != "" {
			errs = append(errs, validateIP(at.Child("hostIP"), port.HostIP)...)
		}
		errs = append(errs, oneOf(at.Child("protocol"), port.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)...)
	}
	return errs
}

// validateHostPorts reports host ports that are already in seen.
func validateHostPorts(c *v1.Container, seen sets.Set[string], path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, port := range c.Ports {
		if port.HostPort != 0 {
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			errs = append(errs, unique(seen, path.Child("ports").Index(i).Child("hostPort"), key)...)
		}
	}
	return errs
}

func validateEnv(env []v1.EnvVar, volumes map[string]v1.VolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, v := range env {
		at := path.Index(i)
		if v.Name == "" {
			errs = append(errs, field.Required(at.Child("name"), ""))
		} else {
			errs = append(errs, messages(at.Child("name"), v.Name, validation.IsRelaxedEnvVarName(v.Name))...)
		}
		if v.ValueFrom != nil {
			errs = append(errs, validateEnvFrom(v, at.Child("valueFrom"))...)
			errs = append(errs, validateFileKeyRef(v.ValueFrom.FileKeyRef, volumes, at.Child("valueFrom", "fileKeyRef"))...)
		}
	}
	return errs
}

func validateEnvFrom(v v1.EnvVar, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	n := 0
	from := v.ValueFrom
	if from.FieldRef != nil {
		n++
		errs = append(errs, validateFieldRef(from.FieldRef, envFields(), path.Child("fieldRef"))...)
	}
	if from.ResourceFieldRef != nil {
		n++
		errs = append(errs, validateResourceFieldRef(from.ResourceFieldRef, false, path.Child("resourceFieldRef"))...)
	}
	// References checks references to API objects.
	for _, set := range []bool{from.ConfigMapKeyRef != nil, from.SecretKeyRef != nil, from.FileKeyRef != nil} {
		if set {
			n++
		}
	}
	switch {
	case n == 0:
		errs = append(errs, field.Required(path, "one of fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef"))
	case v.Value != "":
		errs = append(errs, field.Invalid(path, "", "may not be set together with value"))
	case n > 1:
		errs = append(errs, field.Invalid(path, "", "may not have more than one source"))
	}
	return errs
}

// validateFileKeyRef reports a file that is not one of an emptyDir volume of the pod.
//
// Upstream: pkg/apis/core/validation/validation.go, validateFileKeySelector, validateFileKeyRefVolumes.
func validateFileKeyRef(r *v1.FileKeySelector, volumes map[string]v1.VolumeSource, path *field.Path) field.ErrorList {
	if r == nil {
		return nil
	}
	var errs field.ErrorList
	switch v, known := volumes[r.VolumeName]; {
	case r.VolumeName == "":
		errs = append(errs, field.Required(path.Child("volumeName"), ""))
	case !known:
		errs = append(errs, field.NotFound(path.Child("volumeName"), r.VolumeName))
	case v.EmptyDir == nil:
		errs = append(errs, field.Invalid(path.Child("volumeName"), r.VolumeName, "must be an emptyDir volume"))
	}
	if r.Path == "" {
		errs = append(errs, field.Required(path.Child("path"), ""))
	}
	if r.Key == "" {
		errs = append(errs, field.Required(path.Child("key"), ""))
	} else {
		errs = append(errs, messages(path.Child("key"), r.Key, validation.IsRelaxedEnvVarName(r.Key))...)
	}
	return append(errs, validateNoBacksteps(path.Child("path"), r.Path)...)
}

func validateMounts(c *v1.Container, volumes map[string]v1.VolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	points := sets.New[string]()
	for i, m := range c.VolumeMounts {
		at := path.Index(i)
		source, known := volumes[m.Name]
		switch {
		case m.Name == "":
			errs = append(errs, field.Required(at.Child("name"), ""))
		case !known:
			errs = append(errs, field.NotFound(at.Child("name"), m.Name))
		}
		switch {
		case m.MountPath == "":
			errs = append(errs, field.Required(at.Child("mountPath"), ""))
		case points.Has(m.MountPath):
			errs = append(errs, field.Invalid(at.Child("mountPath"), m.MountPath, "must be unique"))
		}
		points.Insert(m.MountPath)
		if m.SubPath != "" && m.SubPathExpr != "" {
			errs = append(errs, field.Invalid(at.Child("subPathExpr"), m.SubPathExpr, "may not be set together with subPath"))
		}
		errs = append(errs, validateDescending(at.Child("subPath"), m.SubPath)...)
		errs = append(errs, validateDescending(at.Child("subPathExpr"), m.SubPathExpr)...)
		errs = append(errs, validatePropagation(c, m, at)...)
		errs = append(errs, validateMountOptions(m.BindMountOptions, source, at.Child("bindMountOptions"))...)
	}
	return errs
}

func validatePropagation(c *v1.Container, m v1.VolumeMount, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if m.MountPropagation != nil {
		at := path.Child("mountPropagation")
		errs = append(errs, oneOf(at, *m.MountPropagation,
			v1.MountPropagationNone, v1.MountPropagationHostToContainer, v1.MountPropagationBidirectional)...)
		privileged := c.SecurityContext != nil && c.SecurityContext.Privileged != nil && *c.SecurityContext.Privileged
		if *m.MountPropagation == v1.MountPropagationBidirectional && !privileged {
			errs = append(errs, field.Forbidden(at, "Bidirectional needs a privileged container"))
		}
	}
	if m.RecursiveReadOnly == nil {
		return errs
	}
	at := path.Child("recursiveReadOnly")
	errs = append(errs, oneOf(at, *m.RecursiveReadOnly,
		v1.RecursiveReadOnlyDisabled, v1.RecursiveReadOnlyIfPossible, v1.RecursiveReadOnlyEnabled)...)
	if *m.RecursiveReadOnly != v1.RecursiveReadOnlyDisabled {
		if !m.ReadOnly {
			errs = append(errs, field.Forbidden(at, "needs readOnly: true"))
		}
		if m.MountPropagation != nil && *m.MountPropagation != v1.MountPropagationNone {
			errs = append(errs, field.Forbidden(at, "needs mountPropagation: None"))
		}
	}
	return errs
}

// validateMountOptions reports options that are not known, given twice, or for an image volume.
//
// Upstream: pkg/apis/core/validation/validation.go, ValidateVolumeMounts, validateBindMountOptions.
func validateMountOptions(options []string, source v1.VolumeSource, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, o := range options {
		errs = append(errs, oneOf(path.Index(i), o, "nodev", "noexec", "nosuid")...)
		errs = append(errs, unique(seen, path.Index(i), o)...)
	}
	if len(options) > 0 && source.Image != nil {
		errs = append(errs, field.Invalid(path, options, "bindMountOptions may not be used with image volumes"))
	}
	return errs
}

// validateDescending reports a path that would leave its volume.
func validateDescending(path *field.Path, value string) field.ErrorList {
	if strings.HasPrefix(value, "/") {
		return field.ErrorList{field.Invalid(path, value, "must be a relative path")}
	}
	return validateNoBacksteps(path, value)
}

func validateNoBacksteps(path *field.Path, value string) field.ErrorList {
	for part := range strings.SplitSeq(value, "/") {
		if part == ".." {
			return field.ErrorList{field.Invalid(path, value, "must not contain '..'")}
		}
	}
	return nil
}

func validateIP(path *field.Path, value string) field.ErrorList {
	if _, err := netip.ParseAddr(value); err != nil {
		return field.ErrorList{field.Invalid(path, value, "must be an IP address, as 10.9.8.7 or 2001:db8::ffff")}
	}
	return nil
}
