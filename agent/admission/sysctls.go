package admission

import (
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	utilsysctl "k8s.io/component-helpers/node/util/sysctl"
)

// safeSysctls may be set by any pod. All are namespaced since Linux 5.15; older kernels reject them at the start.
//
// Upstream: pkg/kubelet/sysctl/safe_sysctls.go.
func safeSysctls() []string {
	return []string{
		"kernel.shm_rmid_forced",
		"net.ipv4.ip_local_port_range", "net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range", "net.ipv4.ip_unprivileged_port_start",
		"net.ipv4.ip_local_reserved_ports", "net.ipv4.tcp_keepalive_time", "net.ipv4.tcp_fin_timeout", "net.ipv4.tcp_keepalive_intvl",
		"net.ipv4.tcp_keepalive_probes", "net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem", "net.ipv4.tcp_slow_start_after_idle",
		"net.ipv4.tcp_notsent_lowat",
	}
}

// sysctls rejects sysctls that are not namespaced, not allowed, or would change the host.
func (in Inputs) sysctls() Verdict {
	if in.Pod.Spec.SecurityContext == nil {
		return Verdict{OK: true}
	}
	for _, s := range in.Pod.Spec.SecurityContext.Sysctls {
		if why := in.forbidden(utilsysctl.NormalizeName(s.Name)); why != "" {
			return Verdict{Reason: "SysctlForbidden", Message: "forbidden sysctl: " + why}
		}
	}
	return Verdict{OK: true}
}

func (in Inputs) forbidden(name string) string {
	for _, pattern := range append(safeSysctls(), in.Sysctls...) {
		namespace, known, prefix := utilsysctl.GetNamespace(pattern)
		if name != known && (!prefix || !strings.HasPrefix(name, known)) {
			continue
		}
		if sharesWithHost(in.Pod, namespace) {
			return fmt.Sprintf("%q not allowed with host %s enabled", name, namespace)
		}
		return ""
	}
	return fmt.Sprintf("%q not allowlisted", name)
}

func sharesWithHost(pod *v1.Pod, namespace utilsysctl.Namespace) bool {
	switch namespace {
	case utilsysctl.IPCNamespace:
		return pod.Spec.HostIPC
	case utilsysctl.NetNamespace:
		return pod.Spec.HostNetwork
	case utilsysctl.UserNamespace:
		return pod.Spec.HostUsers == nil || *pod.Spec.HostUsers
	case utilsysctl.UTSNamespace, utilsysctl.UnknownNamespace:
	}
	return false
}
