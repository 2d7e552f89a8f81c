// Package podsapi watches the pods of a kubelet that is not ours through its PodsAPI, a local gRPC socket of Kubernetes 1.37 and later.
//
// It owns the watch; package podobject says what is taken of an object. Messages are bounded here. A watch that falls behind is dropped by the
// kubelet and begins anew. It runs no goroutine and publishes nothing.
package podsapi
