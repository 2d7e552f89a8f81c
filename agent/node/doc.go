// Package node keeps the Node object and its lease in the API: it registers the node, writes its status, renews the lease and
// watches changes by others (labels, taints, attached volumes).
//
// It owns the Node object's status and the lease in kube-node-lease. It gets its data from callbacks, and never changes pods or the
// machine.
//
// Self.Known says when the labels and taints in the API are known: if the object exists, the first GET, before the registration.
//
// Run runs three goroutines: the status, from registration on, the lease, and the watch; and one for each list of images.
//
// It publishes node.described when the description of the node is known and when it changes, node.status for each write, pod.wait
// (backoff) for retries, decision (by node) if it yields a node name or takes it over, and log for unexpected states. Kubernetes
// Events go through Config.Events.
package node
