package admit

import (
	"cmp"
	"fmt"
	"slices"

	v1 "k8s.io/api/core/v1"

	podid "github.com/kubeloupe/kubeloupe/agent/pod"
)

func (in Inputs) ports() []problem {
	for _, want := range hostPorts(in.Pod) {
		for _, o := range in.Others {
			if slices.ContainsFunc(hostPorts(o), want.conflicts) {
				return []problem{predicate("NodePorts", fmt.Sprintf(
					"node(s) didn't have free ports for the requested pod ports (host port %d/%s is taken by %s/%s)", want.port, want.protocol, o.Namespace, o.Name))}
			}
		}
	}
	return nil
}

type hostPort struct {
	ip       string
	protocol v1.Protocol
	port     int32
}

// hostPorts are those of the containers that run as long as the pod.
//
// Upstream: pkg/scheduler/util, GetHostPorts.
func hostPorts(pod *v1.Pod) []hostPort {
	var out []hostPort
	add := func(c *v1.Container) {
		for _, p := range c.Ports {
			if p.HostPort > 0 {
				out = append(out, hostPort{ip: p.HostIP, protocol: cmp.Or(p.Protocol, v1.ProtocolTCP), port: p.HostPort})
			}
		}
	}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podid.RestartableInit(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return out
}

func (a hostPort) conflicts(b hostPort) bool {
	return a.port == b.port && a.protocol == b.protocol && (a.ip == b.ip || anyIP(a.ip) || anyIP(b.ip))
}

func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" || ip == "::" }
