// Package podsapi serves the node's pods, with their statuses, to programs on this node, without the API server.
//
// It owns the list of those who watch, and what each of them has seen. A client that reads slowly receives fewer, later versions of a
// pod, and never delays anything. Package localrpc serves the socket, with the limits.
//
// Goroutines: none of its own; each request has one of gRPC.
//
// It publishes nothing.
//
// Upstream: pkg/kubelet/apis/pods, KEP-4188.
package podsapi
