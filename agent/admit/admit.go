// Package admit decides whether the node takes a pod.
//
// It owns the checks, which are pure. It never acts and runs no goroutine; the
// caller publishes the verdict as a Decision.
//
// Upstream: pkg/kubelet/lifecycle/predicate.go, pkg/scheduler/framework/plugins/nodeports.
package admit

import (
	"cmp"
	"fmt"
	"runtime"
	"slices"

	v1 "k8s.io/api/core/v1"

	podid "github.com/kubeloupe/kubeloupe/agent/pod"
)

// Verdict is whether a pod is taken.
type Verdict struct {
	OK bool
	// Reason is CamelCase, as users see it in a rejected pod's status.
	Reason  string
	Message string
}

// Inputs are what the verdict rests on.
type Inputs struct {
	Pod *v1.Pod
	// Others are the pods that the node has taken and that are not over.
	Others []*v1.Pod
	// MaxPods is the most pods that the node takes; 0 means no limit.
	MaxPods int
}

// Check returns the first objection, in upstream's order.
func Check(in Inputs) Verdict {
	if os := in.Pod.Spec.OS; os != nil && string(os.Name) != runtime.GOOS {
		return Verdict{Reason: "PodOSNotSupported", Message: fmt.Sprintf("Failed to admit pod as the OS field (%s) doesn't match node OS (%s)", os.Name, runtime.GOOS)}
	}
	if in.MaxPods > 0 && len(in.Others) >= in.MaxPods {
		return Verdict{Reason: "OutOfpods", Message: fmt.Sprintf("Node didn't have enough resource: pods, requested: 1, used: %d, capacity: %d", len(in.Others), in.MaxPods)}
	}
	for _, want := range hostPorts(in.Pod) {
		for _, o := range in.Others {
			if slices.ContainsFunc(hostPorts(o), want.conflicts) {
				return Verdict{Reason: "NodePorts", Message: fmt.Sprintf("Predicate NodePorts failed: host port %d/%s is taken by %s/%s", want.port, want.protocol, o.Namespace, o.Name)}
			}
		}
	}
	return Verdict{OK: true}
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
