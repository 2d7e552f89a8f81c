// Package selinux has the rules for SELinux labels as mount options of volumes: with which label a volume is mounted for a pod, and
// which pods may have it mounted at the same time.
//
// The rules are pure. Only [OfNode], which translates SELinux options with the node's policy, and [LabelForPlugins], which labels directories,
// depend on the node.
//
// It starts nothing, runs no goroutine and publishes nothing.
//
// Upstream: KEP-1710; pkg/volume/util/selinux.go, pkg/kubelet/volumemanager/cache.
package selinux
