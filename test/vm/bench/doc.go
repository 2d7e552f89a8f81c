// Package bench is what tests on a node in a virtual machine share: a cluster of test/lab, and a node of it as package node makes it, with
// kubeloupe's program. Tests look at the node by scripts on it, and at the cluster by kubectl.
//
// The API server reaches the node only with node.Config.Reachable; without it, kubectl exec and logs do not work. Emulation makes all of it slow:
// what is waited for has [Deadline].
//
// The package runs no goroutines, and publishes no events.
package bench
