// Package qos computes kernel settings from the resource requests and limits of a pod: its QoS class, oom_score_adj, CPU shares and
// quota, memory and huge page limits.
//
// It is pure arithmetic over the pod's spec and matches the kubelet's figures exactly, because they name cgroups and determine
// which process the kernel kills first. It never reads the node, runs no goroutine and publishes no event.
package qos
