// Package logs reads the logs that the runtime writes for containers, and rotates them.
//
// It owns the rotated files beside a container's log. It never writes to a log that is in use,
// and removes no log of a container that has gone: that is agent/gc's.
//
// Reading runs in the caller's goroutine; following adds one that reads inotify while the caller
// waits. The Rotator has one goroutine that looks, and up to its number of workers while
// something is to be rotated. It publishes a trace.Decision for each log that it rotates, and a
// trace.Log when that failed.
//
// Upstream: k8s.io/cri-client/pkg/logs/logs.go and pkg/kubelet/logs/container_log_manager.go.
package logs
