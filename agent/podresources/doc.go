// Package podresources serves the podresources API: which devices, CPUs and memory each container has, for monitoring agents of devices
// and of topology on this node.
//
// It owns no state: the parts that give resources to containers answer. Package localrpc serves the socket, with the limits.
//
// It runs no goroutine and publishes nothing.
//
// Upstream: pkg/kubelet/apis/podresources.
package podresources
