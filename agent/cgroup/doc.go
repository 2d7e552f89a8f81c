// Package cgroup owns the cgroups of pods and of their QoS classes: it creates them, sets their limits, finds leftovers
// and removes them together with processes that still run inside.
//
// The tree is the kubelet's, on cgroup v1 and v2:
//
//	ROOT/kubepods                    all pods; limited to the node's allocatable
//	ROOT/kubepods/pod<uid>           a guaranteed pod
//	ROOT/kubepods/burstable          CPU weight: the sum of its pods' requests
//	ROOT/kubepods/burstable/pod<uid>
//	ROOT/kubepods/besteffort         CPU weight: the minimum
//	ROOT/kubepods/besteffort/pod<uid>
//
// The runtime manages the cgroups of containers; this package changes them only to remove them with the pod. It never
// moves a process. It starts no goroutine; Pods.Run, which the agent runs, sets limits again that the kernel has refused. It
// publishes trace.CgroupOp around each ensure, update and destroy, as child of the span in the context.
//
// A nil *Manager stands for a node without cgroups (the simulated runtime, a Mac): all its methods do nothing and find
// nothing.
package cgroup
