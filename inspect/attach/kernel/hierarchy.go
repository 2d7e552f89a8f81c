package kernel

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"

	"github.com/kubeloupe/kubeloupe/trace/cgroupname"
)

// hierarchy is where the cgroups of pods are, as this process sees them.
type hierarchy struct {
	// cpu has cpu.stat; with cgroup v2 it is the only hierarchy. mount is where that is mounted.
	cpu, mount string
	// memory has memory.oom_control with cgroup v1; "" where it was not found.
	memory string
	v2     bool
}

// mounts reads the mount table of the kubelet. The kernel writes it; pods can have some of what is in it.
func (k *Kernel) mounts(filter mountinfo.FilterFunc) ([]*mountinfo.Info, error) {
	b, err := text(fmt.Sprintf("/proc/%d/mountinfo", k.cfg.Kubelet), maxMounts)
	if err != nil {
		return nil, err
	}
	return parseMounts(b, filter)
}

// findCgroups finds the cgroups of pods. files is what paths of the kubelet begin with from here, root its setting cgroupRoot.
func findCgroups(all []*mountinfo.Info, files, root string) (h hierarchy, ok bool) {
	if h.mount, h.cpu = podsIn(all, files, root, "cpu"); h.cpu != "" { // with both, the controllers are in v1
		_, h.memory = podsIn(all, files, root, "memory")
		return h, true
	}
	h.mount, h.cpu = podsIn(all, files, root, "")
	h.v2 = true
	return h, h.cpu != ""
}

// podsIn finds the cgroups of pods below the mount of a controller of cgroup v1, or of cgroup v2 where controller is "".
func podsIn(all []*mountinfo.Info, files, root, controller string) (mount, top string) {
	for _, m := range all {
		if controller == "" && m.FSType != "cgroup2" || controller != "" && (m.FSType != "cgroup" || !slices.Contains(strings.Split(m.VFSOptions, ","), controller)) {
			continue
		}
		mount = path.Join(files, m.Mountpoint)
		if top = podsBelow(path.Join(mount, root), 2); top != "" {
			return mount, top
		}
	}
	return "", ""
}

// podsBelow is the cgroup of all pods at most some levels below a directory: kubepods, kubepods.slice, or kubelet-kubepods.slice as in kind;
// "" where there is none.
func podsBelow(dir string, levels int) string {
	all, err := names(dir)
	if err != nil {
		return ""
	}
	slices.Sort(all)
	for _, name := range all {
		if base := strings.TrimSuffix(name, ".slice"); base == "kubepods" || strings.HasSuffix(base, "-kubepods") && base != name {
			return path.Join(dir, name)
		}
	}
	if levels == 0 {
		return ""
	}
	for _, name := range all {
		if strings.HasPrefix(name, "kube") { // kubelet, kubelet.slice: that is how kind nests them
			if top := podsBelow(path.Join(dir, name), levels-1); top != "" {
				return top
			}
		}
	}
	return ""
}

// podUID is the UID of the pod whose cgroup has this name; "" for none.
func podUID(name string) string {
	uid := cgroupname.Pod(name)
	if len(uid) < 8 || len(uid) > 64 || strings.Trim(uid, "0123456789abcdef-") != "" {
		return ""
	}
	return uid
}

// containerID is the ID of the container whose cgroup has this name; "" for none.
func containerID(name string) string {
	id := cgroupname.Container(name)
	if len(id) < 32 || len(id) > 128 || strings.Trim(id, "0123456789abcdef") != "" {
		return ""
	}
	return id
}

// classes are the directories that may hold cgroups of pods.
func (h hierarchy) classes() []string {
	all := []string{h.cpu}
	below, _ := names(h.cpu) // it may go
	for _, name := range below {
		if base := strings.TrimSuffix(name, ".slice"); strings.HasSuffix(base, "burstable") || strings.HasSuffix(base, "besteffort") {
			all = append(all, path.Join(h.cpu, name))
		}
	}
	return all
}
