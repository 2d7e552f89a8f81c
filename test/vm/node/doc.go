// Package node runs a node as operators have them, in QEMU without hardware's help: Debian with systemd, cgroup v2 and a journal on disk,
// containerd (SystemdCgroup) and upstream's kubelet as units, as kubeadm lays them out. The node joins a cluster of test/lab, whose control
// plane runs beside it.
//
// The machine reaches the cluster through QEMU's user network, and is reached by ssh on a port of loopback: tests run it in a network
// namespace of their own. Debian's packages are unpacked once, into the cache of test/lab, by mmdebstrap. The machine ends with the test's
// process, and its disk is removed with its directory.
//
// The package runs goroutines that wait for processes, and publishes no events.
package node
