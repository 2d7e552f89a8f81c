package discover

import (
	"slices"
	"strconv"
	"strings"

	"github.com/kubeloupe/kubeloupe/trace/sorting"
)

// podResourcesSocket is below the kubelet's root directory. Upstream: pkg/kubelet/apis/podresources/constants.go.
const podResourcesSocket = "pod-resources/kubelet.sock"

// maxNUMA bounds the NUMA nodes that are read.
const maxNUMA = 64

// NUMANode is a NUMA node of the machine, with its CPUs in the kernel's format, such as 0-3,8.
type NUMANode struct {
	ID   int
	CPUs string
}

// numaOf are the machine's NUMA nodes, by the kernel.
func numaOf(v View) (out []NUMANode) {
	const dir = "sys/devices/system/node"
	names, err := list(v, dir)
	if err != nil {
		return nil
	}
	for _, name := range names {
		number, ok := strings.CutPrefix(name, "node")
		id, err := strconv.ParseUint(number, 10, 16)
		if !ok || err != nil || len(out) == maxNUMA {
			continue
		}
		if b, err := read(v, dir+"/"+name+"/cpulist"); err == nil {
			out = append(out, NUMANode{int(id), strings.TrimSpace(string(b))})
		}
	}
	sorting.Stable(out, func(a, b *NUMANode) int { return a.ID - b.ID })
	return out
}

// Policies are those by which containers get CPUs and memory for themselves, as configured; "" is one that is not known.
type Policies struct {
	CPU, Memory, Topology, Scope string
	// Options are the names of cpuManagerPolicyOptions that are on, with commas between.
	Options string `json:",omitempty"`
}

// policyFile is the part of a KubeletConfiguration about them.
type policyFile struct {
	CPUManagerPolicy        string            `json:"cpuManagerPolicy"`
	CPUManagerPolicyOptions map[string]string `json:"cpuManagerPolicyOptions"`
	MemoryManagerPolicy     string            `json:"memoryManagerPolicy"`
	TopologyManagerPolicy   string            `json:"topologyManagerPolicy"`
	TopologyManagerScope    string            `json:"topologyManagerScope"`
}

// policiesOf are those of a file and flags. If all files were read, what neither sets has its default.
func policiesOf(k *policyFile, f flags, all bool) Policies {
	of := func(flag, file, otherwise string) string {
		switch {
		case f[flag] != "":
			return f[flag]
		case !all:
			return ""
		}
		return or(file, otherwise)
	}
	p := Policies{
		CPU: of("cpu-manager-policy", k.CPUManagerPolicy, "none"), Memory: of("memory-manager-policy", k.MemoryManagerPolicy, "None"),
		Topology: of("topology-manager-policy", k.TopologyManagerPolicy, "none"),
	}
	if p.Topology != "none" {
		p.Scope = of("topology-manager-scope", k.TopologyManagerScope, "container")
	}
	options := k.CPUManagerPolicyOptions
	if text := f["cpu-manager-policy-options"]; text != "" {
		options = map[string]string{}
		for pair := range strings.SplitSeq(text, ",") {
			name, value, _ := strings.Cut(pair, "=")
			options[name] = value
		}
	}
	var on []string
	for name, value := range options {
		if is, err := strconv.ParseBool(value); err == nil && is {
			on = append(on, name)
		}
	}
	slices.Sort(on)
	p.Options = strings.Join(on, ",")
	return p
}

// resourcesSource is what the kubelet gave to containers for themselves.
func (f *Found) resourcesSource() Source {
	s := Source{Name: SourceResources, Where: f.PodResources, There: f.PodResources != ""}
	if !s.There {
		s.Missing = "there is no socket " + f.Config.RootDir + "/" + podResourcesSocket + ": Kubernetes 1.20 and later have it; before 1.28, the feature gate KubeletPodResources can switch it off"
		return s
	}
	s.Gives = "every 5 to 20 s, which containers have CPUs, memory and devices for themselves, and what the node can give; claims from Kubernetes 1.34 on"
	s.Missing = "init containers; how the kubelet chose, which devices are unhealthy, the states of claims"
	if len(f.NUMA) == 0 {
		s.Missing += "; which CPUs each NUMA node has: the kernel does not show it here"
	}
	return s
}
