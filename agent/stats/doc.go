// Package stats says what the node, its pods and their containers use: /stats/summary,
// /metrics/resource and /metrics/cadvisor.
//
// It owns the figures' translation, and remembers the last ones that a rate needs. It changes nothing, and nothing here
// polls: the runtime, the cgroups and the file systems are read when somebody asks. What a
// directory holds is found by walking it, at most once a minute and beside what is asked: containers fill directories, and file systems hang.
// What is not known yet is left out.
//
// It runs a goroutine while somebody asks, two at most that walk, and one for each volume whose file system is asked. It publishes nothing; the calls to the runtime are published by its client.
//
// Upstream: pkg/kubelet/server/stats/summary.go, pkg/kubelet/stats/cri_stats_provider.go.
package stats
