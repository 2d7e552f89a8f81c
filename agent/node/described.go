package node

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/version"

	"github.com/kubeloupe/kubeloupe/trace"
)

// Cgroups is the kind of the node's cgroups.
type Cgroups struct {
	Version int    // 1 or 2; 0 if the agent creates no cgroups
	Driver  string // cgroupfs or systemd
}

// Description returns the description of a node with this status.
func Description(name string, s *v1.NodeStatus, c Cgroups) trace.NodeDescribed {
	d := trace.NodeDescribed{
		Node: name, OSImage: s.NodeInfo.OSImage, Kernel: s.NodeInfo.KernelVersion, OS: s.NodeInfo.OperatingSystem,
		Architecture: s.NodeInfo.Architecture, KubeletVersion: s.NodeInfo.KubeletVersion, ContainerRuntime: s.NodeInfo.ContainerRuntimeVersion,
		CgroupVersion: c.Version, CgroupDriver: c.Driver,
	}
	for _, name := range slices.Sorted(maps.Keys(s.Capacity)) {
		has, left := s.Capacity[name], s.Allocatable[name]
		d.Resources = append(d.Resources, trace.NodeResource{Name: string(name), Capacity: has.String(), Allocatable: left.String()})
	}
	for _, a := range s.Addresses {
		d.Addresses = append(d.Addresses, trace.NodeAddress{Type: string(a.Type), Address: a.Address})
	}
	return d
}

// Standalone returns the description of a node without an object in the API. The IPs are the machine's, the primary one
// first.
func Standalone(name string, info v1.NodeSystemInfo, r Runtime, ips []string, capacity, allocatable v1.ResourceList, c Cgroups) trace.NodeDescribed {
	s := v1.NodeStatus{Capacity: capacity, Allocatable: allocatable, NodeInfo: info}
	s.NodeInfo.ContainerRuntimeVersion = RuntimeVersion(r)
	for _, ip := range ips {
		s.Addresses = append(s.Addresses, v1.NodeAddress{Type: v1.NodeInternalIP, Address: ip})
	}
	s.Addresses = append(s.Addresses, v1.NodeAddress{Type: v1.NodeHostName, Address: name})
	d := Description(name, &s, c)
	d.Standalone = true
	return d
}

// RuntimeVersion returns the runtime as in a node's status.
//
// Upstream: pkg/kubelet/nodestatus/setters.go, VersionInfo.
func RuntimeVersion(r Runtime) string {
	return r.Name + "://" + cmp.Or(numbers(strings.TrimPrefix(r.Version, "v")), "Unknown")
}

// numbers returns a version as tools read it: 1.6.20 for 1.6.20~ds1, as distributions write it. One that has no numbers stays.
//
// Upstream: pkg/kubelet/kuberuntime/kuberuntime_manager.go, newRuntimeVersion.
func numbers(text string) string {
	for _, parse := range []func(string) (*version.Version, error){version.ParseSemantic, version.ParseGeneric} {
		if v, err := parse(text); err == nil {
			return v.String()
		}
	}
	return text
}

// tell publishes the status's description of the node, if it has changed.
func (n *Node) tell(ctx context.Context, s *v1.NodeStatus) {
	d := Description(n.cfg.Name, s, n.cfg.Cgroups)
	if n.described != nil {
		if d.Changed = differences(n.described, &d); len(d.Changed) == 0 {
			return
		}
	}
	n.described = &d
	trace.Point(n.cfg.Bus, trace.FromContext(ctx), d)
}

// differences returns in words how a description differs from the earlier one.
func differences(was, is *trace.NodeDescribed) (out []string) {
	for _, list := range []struct {
		name string
		of   func(trace.NodeResource) string
	}{
		{"capacity", func(r trace.NodeResource) string { return r.Capacity }},
		{"allocatable", func(r trace.NodeResource) string { return r.Allocatable }},
	} {
		before, now := map[string]string{}, map[string]string{}
		for _, r := range was.Resources {
			before[r.Name] = list.of(r)
		}
		for _, r := range is.Resources {
			now[r.Name] = list.of(r)
		}
		names := maps.Clone(before)
		maps.Copy(names, now)
		for _, name := range slices.Sorted(maps.Keys(names)) {
			out = append(out, difference(list.name+" "+name, before[name], now[name])...)
		}
	}
	for _, f := range []struct{ name, was, is string }{
		{"addresses", addressWords(was.Addresses), addressWords(is.Addresses)},
		{"OS", was.OSImage, is.OSImage},
		{"kernel", was.Kernel, is.Kernel},
		{"kubelet version", was.KubeletVersion, is.KubeletVersion},
		{"container runtime", was.ContainerRuntime, is.ContainerRuntime},
	} {
		out = append(out, difference(f.name, f.was, f.is)...)
	}
	return out
}

// difference returns one sentence, or nothing.
func difference(name, was, is string) []string {
	switch {
	case was == is:
		return nil
	case was == "":
		return []string{name + " " + is}
	case is == "":
		return []string{name + " gone"}
	}
	return []string{fmt.Sprintf("%s %s → %s", name, was, is)}
}

func addressWords(list []trace.NodeAddress) string {
	words := make([]string, 0, len(list))
	for _, a := range list {
		words = append(words, a.Type+" "+a.Address)
	}
	return strings.Join(words, ", ")
}
