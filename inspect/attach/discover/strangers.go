package discover

import "strings"

// stranger says why a process cannot be the node's kubelet or its container runtime, whatever its name is and whatever it listens on; ""
// where it may be. A pod in the host's network can listen on 10250 or on a path of a socket, and can call itself kubelet; it
// cannot leave its cgroup and become root outside its user namespace without being root of the node already, and then nothing is left
// to tell apart.
func (p *Process) stranger() string {
	switch {
	case p.uid != "" && p.uid != "0":
		return "it does not run as root"
	case p.ownUsers:
		return "it runs in a user namespace"
	case p.inPod:
		return "it runs in a pod"
	}
	return ""
}

// podsIn counts how many cgroups of pods a process is in, one within the other, by its /proc/PID/cgroup: a node can itself be a pod of
// another cluster. A process in a cgroup namespace of its own, as attach in a pod, sees other pods relative to itself: /../../podUID/ID, without
// the cgroup of all pods above.
func podsIn(text string) (most int) {
	for line := range strings.Lines(text) {
		all, one := 0, 0
		for part := range strings.SplitSeq(strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]), "/") {
			if part == "kubepods" || part == "kubepods.slice" || strings.HasSuffix(part, "-kubepods.slice") {
				all++
			} else if ofPod(part) {
				one++
			}
		}
		most = max(most, all, one)
	}
	return most
}

// ofPod reports whether a part of a cgroup's path is the cgroup of one pod: podUID with cgroupfs, kubepods-burstable-podUID.slice with systemd.
func ofPod(part string) bool {
	if name, ok := strings.CutSuffix(part, ".slice"); ok {
		return strings.Contains(name, "kubepods-") && strings.Contains(name, "-pod")
	}
	uid, ok := strings.CutPrefix(part, "pod")
	return ok && uid != "" && strings.Trim(uid, "0123456789abcdef-") == ""
}
