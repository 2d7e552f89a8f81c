// Package logs reads the logs that the runtime writes for containers, in the CRI's format or Docker's JSON, and rotates them.
//
// It owns the rotated files of a container's log. It never writes to a log that is in use, and does not remove the logs
// of removed containers (agent/gc does).
//
// Reading runs in the caller's goroutine; following adds one that reads inotify while the caller waits. The Rotator has
// one goroutine that checks the sizes, and up to its number of workers while it rotates logs. It publishes a
// trace.Decision for each log that it rotates, and a trace.Log if that fails.
//
// Upstream: k8s.io/cri-client/pkg/logs/logs.go and pkg/kubelet/logs/container_log_manager.go.
package logs
