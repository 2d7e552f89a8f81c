// Package cluster has tests that drive the real kubeloupe as the node of the lab's real cluster: what kubectl asks of it, its identity,
// its sources of pods, and bad days, of which nothing may be left.
//
// The tests bring up a cluster of their own in a network namespace of their own, so they may run beside other labs. They need Linux and
// root, and are skipped with -short. Where Kubernetes is not in the cache, they build it first: some ten minutes on two processors.
// -outage=10m makes the API server's absence longer, and -pods=110 has more pods started at once.
//
// To work on a test, KUBELOUPE_BINARY names an agent that was built before, and KUBELOUPE_CLUSTER_DIR a lab with a cluster of the
// present network namespace that shall be used and left.
package cluster
