package cgroup

import (
	"fmt"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeloupe/kubeloupe/agent/qos"
	"github.com/kubeloupe/kubeloupe/trace/cgroupname"
)

const (
	slice     = ".slice"
	podPrefix = "pod"
)

// tiers are the parents of pods: guaranteed pods are directly below kubepods.
func tiers() [][]string {
	return [][]string{{"kubepods"}, {"kubepods", "burstable"}, {"kubepods", "besteffort"}}
}

func tierOf(pod *v1.Pod) []string {
	switch qos.Class(pod) {
	case v1.PodQOSBurstable:
		return tiers()[1]
	case v1.PodQOSBestEffort:
		return tiers()[2]
	case v1.PodQOSGuaranteed:
	}
	return tiers()[0]
}

// PodParent returns the pod's cgroup for the CRI's cgroup_parent, for example /kubepods/burstable/pod<uid>, or with
// systemd the path of its slices.
//
// Upstream: pkg/kubelet/cm/pod_container_manager_linux.go, GetPodContainerName.
func (m *Manager) PodParent(pod *v1.Pod) string {
	if m == nil {
		return ""
	}
	return m.name(append(tierOf(pod), podPrefix+string(pod.UID))...)
}

// name returns the path of a cgroup below each hierarchy.
//
// Upstream: pkg/kubelet/cm/cgroup_manager_linux.go, ToCgroupfs and ToSystemd.
func (m *Manager) name(parts ...string) string {
	return m.spell(append(split(m.cfg.Root), parts...))
}

// roots returns the root and its parents, topmost first.
func (m *Manager) roots() []string {
	parts := split(m.cfg.Root)
	var out []string
	for i := range parts {
		out = append(out, m.spell(parts[:i+1]))
	}
	return out
}

func (m *Manager) spell(parts []string) string {
	if m.cfg.Driver != Systemd {
		return path.Join("/", path.Join(parts...))
	}
	out, unit := "/", ""
	for _, part := range parts {
		// In a slice's name, - separates it from its parent.
		unit += strings.ReplaceAll(part, "-", "_")
		out = path.Join(out, unit+slice)
		unit += "-"
	}
	return out
}

// podUID returns a pod's UID from its cgroup's base name, "" for other names.
func (m *Manager) podUID(base string) types.UID {
	if strings.HasSuffix(base, slice) != (m.cfg.Driver == Systemd) {
		return ""
	}
	return types.UID(cgroupname.Pod(base))
}

// checkUID rejects a UID that would name another directory.
func checkUID(uid types.UID) error {
	if uid == "" || strings.ContainsAny(string(uid), "/_\x00\n") {
		return fmt.Errorf("pod UID %q cannot name a cgroup: want letters, digits and -", uid)
	}
	return nil
}

func split(p string) []string {
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}
