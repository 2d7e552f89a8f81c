package criconfig

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
)

// ImageUser is the user of the image. If both fields are unset, it is root.
type ImageUser struct {
	UID  *int64
	Name string
}

// containerSecurity merges the pod's security context with the container's, which takes precedence.
//
// Upstream: pkg/kubelet/kuberuntime/security_context.go, determineEffectiveSecurityContext.
func containerSecurity(pod *v1.Pod, c *v1.Container, node Node, in *ContainerInput) (*runtimeapi.LinuxContainerSecurityContext, error) {
	podSC, own := podSecurity(pod), c.SecurityContext
	if own == nil {
		own = &v1.SecurityContext{}
	}
	user := in.ImageUser
	if user.UID == nil && user.Name == "" {
		user.UID = new(int64)
	}
	asUser := either(own.RunAsUser, podSC.RunAsUser)
	if isTrue(either(own.RunAsNonRoot, podSC.RunAsNonRoot)) {
		if err := verifyNonRoot(asUser, user); err != nil {
			return nil, containerError(c, "securityContext.runAsNonRoot", err)
		}
	}
	sc := &runtimeapi.LinuxContainerSecurityContext{
		Capabilities:   capabilities(own.Capabilities),
		Privileged:     isTrue(own.Privileged),
		SelinuxOptions: seLinux(either(own.SELinuxOptions, podSC.SELinuxOptions)),
		RunAsUser:      int64Value(asUser),
		RunAsGroup:     int64Value(either(own.RunAsGroup, podSC.RunAsGroup)),
		ReadonlyRootfs: isTrue(own.ReadOnlyRootFilesystem),
		NoNewPrivs:     own.AllowPrivilegeEscalation != nil && !*own.AllowPrivilegeEscalation,
	}
	if asUser == nil {
		sc.RunAsUser, sc.RunAsUsername = int64Value(user.UID), user.Name
	}
	if own.ProcMount == nil || *own.ProcMount != v1.UnmaskedProcMount {
		sc.MaskedPaths, sc.ReadonlyPaths = maskedPaths(node), readonlyPaths()
	}
	var err error
	if sc.Seccomp, err = seccomp(either(own.SeccompProfile, podSC.SeccompProfile), node); err != nil {
		return nil, containerError(c, "securityContext.seccompProfile", err)
	}
	if err = setAppArmor(sc, AppArmor(pod, c)); err != nil {
		return nil, containerError(c, "securityContext.appArmorProfile", err)
	}
	if sc.NamespaceOptions, err = Namespaces(pod, in.UserNS); err != nil {
		return nil, containerError(c, "hostUsers", err)
	}
	if in.TargetID != "" && sc.NamespaceOptions.Pid == runtimeapi.NamespaceMode_CONTAINER {
		sc.NamespaceOptions.Pid, sc.NamespaceOptions.TargetId = runtimeapi.NamespaceMode_TARGET, in.TargetID
	}
	// Unlike in the sandbox, the groups of volumes come last.
	sc.SupplementalGroups = slices.Concat(optional(podSC.FSGroup), podSC.SupplementalGroups, in.ExtraGroups)
	if sc.SupplementalGroupsPolicy, err = groupsPolicy(podSC); err != nil {
		return nil, containerError(c, "securityContext.supplementalGroupsPolicy", err)
	}
	return sc, nil
}

// Upstream: pkg/kubelet/kuberuntime/security_context_others.go, verifyRunAsNonRoot.
func verifyNonRoot(asUser *int64, image ImageUser) error {
	switch {
	case asUser != nil && *asUser == 0:
		return errors.New("container's runAsUser breaks non-root policy: it is 0")
	case asUser != nil:
		return nil
	case image.UID == nil:
		return fmt.Errorf("container has runAsNonRoot and image has non-numeric user (%s), cannot verify user is non-root: "+
			"set securityContext.runAsUser", image.Name)
	case *image.UID == 0:
		return errors.New("container has runAsNonRoot and image will run as root: set securityContext.runAsUser")
	}
	if msgs := validation.IsValidUserID(*image.UID); len(msgs) > 0 {
		return fmt.Errorf("container has runAsNonRoot and image has an invalid user id (%d): %s", *image.UID, msgs[0])
	}
	return nil
}

// Upstream: pkg/kubelet/kuberuntime/helpers.go, fieldSeccompProfile.
func seccomp(p *v1.SeccompProfile, node Node) (*runtimeapi.SecurityProfile, error) {
	switch {
	case p == nil && node.SeccompDefault, p != nil && p.Type == v1.SeccompProfileTypeRuntimeDefault:
		return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault}, nil
	case p != nil && p.Type == v1.SeccompProfileTypeLocalhost:
		if p.LocalhostProfile == nil || *p.LocalhostProfile == "" {
			return nil, errors.New("localhostProfile must be set for type Localhost")
		}
		return &runtimeapi.SecurityProfile{
			ProfileType:  runtimeapi.SecurityProfile_Localhost,
			LocalhostRef: filepath.Join(node.SeccompRoot, *p.LocalhostProfile),
		}, nil
	}
	return &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_Unconfined}, nil
}

// maskedPaths and readonlyPaths are the kernel's files that a container must not see or write.
//
// Upstream: pkg/securitycontext/util.go.
func maskedPaths(node Node) []string {
	return slices.Concat([]string{
		"/proc/asound", "/proc/acpi", "/proc/interrupts", "/proc/kcore", "/proc/keys", "/proc/latency_stats",
		"/proc/timer_list", "/proc/timer_stats", "/proc/sched_debug", "/proc/scsi", "/sys/firmware",
		"/sys/devices/virtual/powercap",
	}, node.MaskedPaths)
}

func readonlyPaths() []string {
	return []string{"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"}
}

func capabilities(c *v1.Capabilities) *runtimeapi.Capability {
	if c == nil {
		return nil
	}
	out := &runtimeapi.Capability{}
	for _, name := range c.Add {
		out.AddCapabilities = append(out.AddCapabilities, string(name))
	}
	for _, name := range c.Drop {
		out.DropCapabilities = append(out.DropCapabilities, string(name))
	}
	return out
}

func seLinux(o *v1.SELinuxOptions) *runtimeapi.SELinuxOption {
	if o == nil {
		return nil
	}
	return &runtimeapi.SELinuxOption{User: o.User, Role: o.Role, Type: o.Type, Level: o.Level}
}

func groupsPolicy(sc *v1.PodSecurityContext) (runtimeapi.SupplementalGroupsPolicy, error) {
	if sc.SupplementalGroupsPolicy == nil {
		return runtimeapi.SupplementalGroupsPolicy_Merge, nil
	}
	value, ok := runtimeapi.SupplementalGroupsPolicy_value[string(*sc.SupplementalGroupsPolicy)]
	if !ok {
		return 0, fmt.Errorf("%q: want Merge or Strict", *sc.SupplementalGroupsPolicy)
	}
	return runtimeapi.SupplementalGroupsPolicy(value), nil
}

func podSecurity(pod *v1.Pod) *v1.PodSecurityContext {
	if pod.Spec.SecurityContext == nil {
		return &v1.PodSecurityContext{}
	}
	return pod.Spec.SecurityContext
}

func either[T any](first, second *T) *T {
	if first != nil {
		return first
	}
	return second
}

func int64Value(v *int64) *runtimeapi.Int64Value {
	if v == nil {
		return nil
	}
	return &runtimeapi.Int64Value{Value: *v}
}

func optional(v *int64) []int64 {
	if v == nil {
		return nil
	}
	return []int64{*v}
}
