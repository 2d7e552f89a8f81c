// Package attach tests kubeloupe attach on upstream's kubelet, with a real containerd and cluster.
package attach
