// Package stats has the resource usage of the node, its pods and their containers: /stats/summary, /metrics/resource and
// /metrics/cadvisor.
//
// It owns the translation of the figures, and keeps the last ones that a rate needs and the images of sandboxes. It changes nothing and does
// not poll: the runtime, the cgroups and the file systems are read for a request. The size of a directory is found by walking it, at most once
// per minute and in the background, because containers fill directories and file systems hang. At most 1 MiB of a file of the kernel
// is read. Unknown figures are omitted. Pressure (PSI) comes from the runtime, or else from cgroup v2.
//
// It runs a goroutine during a request, at most two that walk directories, and one for each volume whose file system is read. It
// publishes a Log when the runtime's statistics of pods or its metrics fail; the calls to the runtime are published by its client.
//
// Upstream: pkg/kubelet/server/stats/summary.go, pkg/kubelet/stats/cri_stats_provider.go, and for the node and cgroups cAdvisor,
// github.com/google/cadvisor/lib.
package stats
