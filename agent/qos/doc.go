// Package qos computes kernel settings from the resource requests and limits of a pod: its QoS class, oom_score_adj,
// CPU shares and quota, memory and huge page limits.
//
// It is pure arithmetic on the pod's spec. Its figures are equal to the kubelet's, because they are part of cgroup
// names and determine which process the kernel kills first. It never reads the node, runs no goroutine and publishes no
// event.
package qos
