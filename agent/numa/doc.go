// Package numa reads how the machine's CPUs and memory are arranged: threads, cores, sockets, uncore caches and NUMA nodes.
//
// It owns this description, and sets of NUMA nodes. It reads the kernel's files once, when it is called. It never changes anything,
// keeps no state, runs no goroutine and publishes nothing.
//
// Upstream: cadvisor, lib/utils/sysinfo, and pkg/kubelet/cm/cpumanager/topology.
package numa
