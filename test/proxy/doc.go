// Package proxy tries kubeloupe's proxy between upstream's kubelet and containerd, in a cluster of the lab: pods, exec, logs, attach and
// port-forward, processes that are killed, and what it costs. It owns nothing but its tests, and publishes nothing.
package proxy
