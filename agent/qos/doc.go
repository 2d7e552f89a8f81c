// Package qos turns the resource requests and limits of a pod into what the kernel is told: its
// QoS class, oom_score_adj, CPU shares and quota, memory and huge page limits.
//
// It is pure arithmetic over the pod's spec and matches the kubelet's figures exactly, because
// they name cgroups and decide who dies first. It never reads the node, runs no goroutine and
// publishes no event.
package qos
