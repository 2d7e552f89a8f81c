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
// another cluster.
func podsIn(text string) (most int) {
	for line := range strings.Lines(text) {
		n := 0
		for part := range strings.SplitSeq(strings.TrimSpace(line[strings.LastIndexByte(line, ':')+1:]), "/") {
			if part == "kubepods" || part == "kubepods.slice" || strings.HasSuffix(part, "-kubepods.slice") {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}
