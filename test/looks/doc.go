// Command looks starts the same pod under upstream's kubelet and under kubeloupe, on one node, and prints how the two starts differ:
//
//	make looks
//
// Upstream's start is read from its log at V4 and from containerd's log, kubeloupe's from its recording. One start before each warms the
// caches and does not count. It needs root.
package main
