package node

import (
	"io"

	"github.com/kubeloupe/kubeloupe/test/lab"
)

// Agent is the unit that makes the node of the machine. Both are installed; each stops the other.
type Agent string

// The agents, by their units.
const (
	// Kubelet is upstream's kubelet, which a machine without a cluster does not have.
	Kubelet Agent = "kubelet"
	// Kubeloupe needs its program and its unit in [Config.Copy]: see [Own].
	Kubeloupe Agent = "kubeloupe"
	// None leaves it to others to start an agent on the machine.
	None Agent = "none"
)

// Address is the node's, in the emulator's network.
const Address = "10.0.2.15"

// Config says what node to start.
type Config struct {
	// Dir receives the machine's files. It must be empty or not exist, and its path at most 90 bytes long.
	Dir string
	// Cluster is what the node joins; nil makes a node of its own, with static pods and the images of the lab.
	Cluster *lab.Cluster
	// Copy has files of this machine by their path on the node.
	Copy map[string]string
	// Agent starts with the machine; "" is the kubelet.
	Agent Agent
	// Memory is the machine's, in MiB; 0 is 3072.
	Memory int
	// CPUs is the number of processors; 0 is 2. They share the CPUs of this machine, so more of them make the machine slower.
	CPUs int
	// Sockets divides processors and memory among so many sockets, each a NUMA node; 0 and 1 are a machine without NUMA. Both must be divisible.
	Sockets int
	// KernelArgs are more arguments of the kernel, such as net.ifnames=0.
	KernelArgs string
	// Disks adds 256 MiB of swap (/dev/vdb) and a second disk of 1 GiB (/dev/vdc, at /data). Agents accept swap then.
	Disks bool
	// Reachable has this machine reach the kubelet's port of the node at [Address], which must be one of its own, for example of the
	// loopback device in a network namespace: then an API server reaches the node, and kubectl exec and logs work.
	Reachable bool
	// Cgroupfs makes cgroupfs the driver of the runtime and of the agents, in place of systemd.
	Cgroupfs bool
	// SELinux has the kernel use SELinux in place of AppArmor, permissive, with Debian's policy, and the runtime label containers. Files of the
	// node have no label. Nothing is logged about what the policy would deny.
	SELinux bool
	// Detached has the machine outlive this process: [Down] ends it.
	Detached bool
	// Log receives a line for each step that takes time.
	Log io.Writer
}

// UnitFile is where the node has kubeloupe's unit.
const UnitFile = "etc/systemd/system/kubeloupe.service"

// Own is what [Config.Copy] needs for kubeloupe: its program and the unit in deploy/systemd of the work tree in root.
func Own(program, root string) map[string]string {
	return map[string]string{"usr/local/bin/kubeloupe": program, UnitFile: root + "/deploy/systemd/kubeloupe.service"}
}
