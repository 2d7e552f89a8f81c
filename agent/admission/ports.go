package admission

import (
	"cmp"
	"fmt"

	v1 "k8s.io/api/core/v1"

	"github.com/kubeloupe/kubeloupe/agent/podspec"
)

func (in Inputs) ports() []problem {
	wanted := hostPorts(in.Pod)
	if len(wanted) == 0 {
		return nil
	}
	// The owner of each port, by index in Others: for its address, and for any address.
	taken, wherever := map[hostPort]int{}, map[hostPort]int{}
	for i, o := range in.Others {
		for _, p := range hostPorts(o) {
			note(taken, p.at(p.ip), i)
			note(wherever, p.at(""), i)
		}
	}
	for _, want := range wanted {
		// A port without an address uses all of them, and so may those of others.
		owner, conflict := wherever[want.at("")]
		if !anyIP(want.ip) {
			owner, conflict = taken[want.at(want.ip)]
			if other, too := taken[want.at("")]; too && (!conflict || other < owner) {
				owner, conflict = other, true
			}
		}
		if conflict {
			p := predicate("NodePorts", "node(s) didn't have free ports for the requested pod ports")
			p.Detail = fmt.Sprintf("host port %d/%s is taken by %s", want.port, want.protocol, podspec.Ref(in.Others[owner]))
			return []problem{p}
		}
	}
	return nil
}

// note stores the first owner of a port.
func note(of map[hostPort]int, p hostPort, i int) {
	if _, have := of[p]; !have {
		of[p] = i
	}
}

type hostPort struct {
	ip       string
	protocol v1.Protocol
	port     int32
}

// hostPorts returns the host ports of the containers that run as long as the pod.
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
		if c := &pod.Spec.InitContainers[i]; podspec.RestartableInit(c) {
			add(c)
		}
	}
	for i := range pod.Spec.Containers {
		add(&pod.Spec.Containers[i])
	}
	return out
}

// at returns the port at an address, "" for all of them.
func (a hostPort) at(ip string) hostPort {
	if anyIP(ip) {
		ip = ""
	}
	return hostPort{ip: ip, protocol: a.protocol, port: a.port}
}

// anyIP reports whether a port with this host IP conflicts with those of all addresses. As upstream, :: is an address like others.
//
// Upstream: k8s.io/kube-scheduler/framework/types.go, HostPortInfo.
func anyIP(ip string) bool { return ip == "" || ip == "0.0.0.0" }
