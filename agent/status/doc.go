// Package status writes the statuses of pods to the API server, and deletes there what is gone here.
//
// It owns the latest status of each pod, its version, what the API server is known to have, and the
// queue of what has to be written. A change is written at once, several pods at a time, one write of a
// pod after another; of several changes in the meantime only the latest is written. A write is a patch
// of the differences, bound to the pod's UID. It never decides what a pod's status is, never asks for
// a pod before it writes (the watch tells), and never blocks who sets a status.
//
// Manager.Run is one goroutine, and one for each write under way. Nothing is polled. While the API
// server does not answer, one write at a time is tried, with back-off and jitter; when it answers, the
// rest follows.
//
// It publishes trace.StatusPatch, a trace.Wait where a status cannot be written at once (queue or
// back-off), and a trace.Decision when a status is refused because it would go backward.
//
// Upstream: pkg/kubelet/status/status_manager.go.
package status
