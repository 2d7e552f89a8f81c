package criconfig

import (
	"fmt"
	"maps"
	"slices"

	v1 "k8s.io/api/core/v1"
	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1"
	netutils "k8s.io/utils/net"
)

// SandboxInput is the input for a sandbox, in addition to its pod and the node.
type SandboxInput struct {
	// Attempt is the number of the pod's earlier sandboxes.
	Attempt uint32
	// CgroupParent is the pod's cgroup; "" leaves the choice to the runtime.
	CgroupParent string
	// DNS is the pod's resolver configuration, from [DNS].
	DNS *runtimeapi.DNSConfig
	// ExtraGroups are the supplemental groups that the pod's volumes add.
	ExtraGroups []int64
	// UserNS is the user namespace of a pod with hostUsers: false, else nil.
	UserNS *runtimeapi.UserNamespace
	// ExclusiveCPUs lifts the CPU quota of a pod that has CPUs for itself.
	ExclusiveCPUs bool
}

// Sandbox translates a pod into its sandbox's configuration. An error is an *Error with
// [ReasonSandbox]. The result shares nothing that may change with the pod.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_sandbox.go, generatePodSandboxConfig.
func Sandbox(pod *v1.Pod, node Node, in SandboxInput) (*runtimeapi.PodSandboxConfig, error) {
	sc := podSecurity(pod)
	policy, err := groupsPolicy(sc)
	if err != nil {
		return nil, sandboxError("spec.securityContext.supplementalGroupsPolicy", err)
	}
	namespaces, err := Namespaces(pod, in.UserNS)
	if err != nil {
		return nil, sandboxError("spec.hostUsers", err)
	}
	resources, overhead := sandboxResources(pod, node, in.ExclusiveCPUs)
	cfg := &runtimeapi.PodSandboxConfig{
		Metadata: &runtimeapi.PodSandboxMetadata{
			Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID), Attempt: in.Attempt,
		},
		LogDirectory: PodLogDir(node.LogRoot, pod.Namespace, pod.Name, pod.UID),
		DnsConfig:    in.DNS,
		PortMappings: portMappings(pod),
		Labels:       sandboxLabels(pod),
		Annotations:  maps.Clone(pod.Annotations),
		Linux: &runtimeapi.LinuxPodSandboxConfig{
			CgroupParent: in.CgroupParent,
			SecurityContext: &runtimeapi.LinuxSandboxSecurityContext{
				NamespaceOptions:         namespaces,
				SelinuxOptions:           seLinux(sc.SELinuxOptions),
				RunAsUser:                int64Value(sc.RunAsUser),
				RunAsGroup:               int64Value(sc.RunAsGroup),
				SupplementalGroups:       slices.Concat(optional(sc.FSGroup), in.ExtraGroups, sc.SupplementalGroups),
				SupplementalGroupsPolicy: policy,
				Privileged:               anyPrivileged(pod),
				// The sandbox itself needs nothing that the default profile forbids.
				Seccomp: &runtimeapi.SecurityProfile{ProfileType: runtimeapi.SecurityProfile_RuntimeDefault},
			},
			Sysctls:   sysctls(pod, node.Sysctls),
			Resources: resources,
			Overhead:  overhead,
		},
	}
	if !pod.Spec.HostNetwork {
		if cfg.Hostname, err = kernelHostname(pod, node.ClusterDomain); err != nil {
			return nil, err
		}
	}
	return cfg, nil
}

// PullSandbox returns the part of a sandbox's configuration that is sent with the pull of an image: the pod's identity
// and its cgroup. A pull does not wait until the rest is known.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_image.go, PullImage, which sends the whole configuration.
func PullSandbox(pod *v1.Pod, cgroupParent string) *runtimeapi.PodSandboxConfig {
	return &runtimeapi.PodSandboxConfig{
		Metadata:    &runtimeapi.PodSandboxMetadata{Name: pod.Name, Namespace: pod.Namespace, Uid: string(pod.UID)},
		Labels:      sandboxLabels(pod),
		Annotations: maps.Clone(pod.Annotations),
		Linux:       &runtimeapi.LinuxPodSandboxConfig{CgroupParent: cgroupParent},
	}
}

func anyPrivileged(pod *v1.Pod) bool {
	privileged := func(sc *v1.SecurityContext) bool { return sc != nil && isTrue(sc.Privileged) }
	one := func(c v1.Container) bool { return privileged(c.SecurityContext) }
	return slices.ContainsFunc(pod.Spec.InitContainers, one) || slices.ContainsFunc(pod.Spec.Containers, one) ||
		slices.ContainsFunc(pod.Spec.EphemeralContainers, func(c v1.EphemeralContainer) bool { return privileged(c.SecurityContext) })
}

// portMappings lists the regular containers' ports. Of ports with the same name in a container,
// or without a name and otherwise equal, the first counts.
//
// Upstream: pkg/kubelet/container/helpers.go, MakePortMappings.
func portMappings(pod *v1.Pod) []*runtimeapi.PortMapping {
	var out []*runtimeapi.PortMapping
	for i := range pod.Spec.Containers {
		seen := map[string]bool{}
		for _, p := range pod.Spec.Containers[i].Ports {
			if name := portName(p); !seen[name] {
				seen[name] = true
				out = append(out, &runtimeapi.PortMapping{
					Protocol: protocol(p.Protocol), ContainerPort: p.ContainerPort, HostPort: p.HostPort, HostIp: p.HostIP,
				})
			}
		}
	}
	return out
}

func portName(p v1.ContainerPort) string {
	if p.Name != "" {
		return p.Name
	}
	family := "any"
	switch {
	case netutils.IsIPv6String(p.HostIP):
		family = "v6"
	case p.HostIP != "":
		family = "v4"
	}
	return fmt.Sprintf("%s-%s-%s:%d:%d", family, p.Protocol, p.HostIP, p.ContainerPort, p.HostPort)
}

func protocol(p v1.Protocol) runtimeapi.Protocol {
	switch p {
	case v1.ProtocolUDP:
		return runtimeapi.Protocol_UDP
	case v1.ProtocolSCTP:
		return runtimeapi.Protocol_SCTP
	case v1.ProtocolTCP:
	}
	return runtimeapi.Protocol_TCP
}
