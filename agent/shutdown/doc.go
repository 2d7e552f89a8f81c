// Package shutdown terminates the node's pods in order before the machine shuts down.
//
// It owns logind's inhibitor lock, with which a shutdown of the machine waits, the order and the grace periods of the pods, whether the node
// is shutting down, and the file graceful_node_shutdown_state. It does not terminate pods itself (its Pods do), writes no status, and does not
// decide about new pods: others ask it.
//
// When logind announces a shutdown, the node is not ready any more. An agent that has just started waits some seconds until it knows its pods.
// The pods terminate in groups by their priority, the lowest first; a group
// has its time, and the next one begins when all pods of the group have terminated and their volumes are unmounted, or when the time is over.
// Then the lock is released, and the machine shuts down. If the shutdown is canceled meanwhile, the groups that have not begun continue to
// run, and the lock is taken again.
//
// Run does this in its caller's goroutine, with another one while pods terminate and one per connection to the bus. If the connection is lost,
// for example because the bus restarts, Run connects again; the lock that it holds is valid meanwhile. It publishes a Shutdown for each step,
// and a Log when logind cannot be reached.
//
// Upstream: pkg/kubelet/nodeshutdown. A cancellation takes effect there when all pods have terminated, and without the whole time for its
// pods, no lock is held at all.
package shutdown
