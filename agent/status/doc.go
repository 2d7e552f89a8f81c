// Package status writes the statuses of pods to the API server, and deletes the objects of pods that are gone.
//
// It owns the latest status of each pod, its version, the known status in the API server, and the queue of writes. A change is
// written immediately, for several pods at the same time, with one write per pod at a time; of several changes in the meantime only
// the latest is written. Small changes that follow a write closely, and the steps of a start, wait half a second at most, so that
// they need one write together (pace.go). A write is a patch of the differences, bound to the pod's UID. It never decides what a pod's status is,
// never gets a pod before it writes (the watch delivers it), and never blocks its callers.
//
// Manager.Run is one goroutine, and one for each write in progress. It does not poll. While the API server does not respond, it
// tries one write at a time, with back-off and jitter; when the API server responds, the rest follows.
//
// It publishes trace.StatusPatch, a trace.Wait if a status cannot be written immediately (queue or back-off), and a trace.Decision
// when a status is rejected because it would go backward.
//
// Upstream: pkg/kubelet/status/status_manager.go.
package status
