// Package stack runs deploy/stack in a cluster: the Collector, Prometheus and, if there is a program of it, Jaeger are pods on a node of kubeloupe,
// to which the node's agent sends its spans and from which its metrics are scraped, as docs/fleet.md tells a user to do. Then upstream's kubelet takes
// the node over, with attach as a DaemonSet that uses the same stack. Grafana is not there, because it cannot be built from its modules.
//
// The cluster, its registry and all pods are those of test/lab, in a network namespace of their own. It publishes nothing.
//
//	make stack JAEGER=program
package stack
