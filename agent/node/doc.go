// Package node keeps the node's object and its lease in the API: it registers the node, writes its status, renews the lease and
// watches what others change of it (labels, taints, attached volumes).
//
// It owns the Node object's status and the lease in kube-node-lease. It asks callbacks for what is true, and never changes
// pods or the machine.
//
// Run runs three goroutines: the status, from registration on, the lease, and the watch.
//
// It publishes node.described when what the node is and has is known, and when that changes, node.status for each write, pod.wait (backoff) for what is tried again, decision (by node) where it gives way or takes
// over, and log for what is odd. Kubernetes Events go through Config.Events.
package node
