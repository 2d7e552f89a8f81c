// Package podsapi watches the pods of a kubelet that is not ours through its PodsAPI, a local gRPC socket of Kubernetes 1.37 and later.
//
// It owns what becomes of a pod there: its status when it changes, and the moment it became ready. It reads names and statuses only;
// environments and other parts of specs are dropped at once. Statuses hold the words of containers and registries: the bus cuts them,
// messages are bounded here. A watch that falls behind is dropped by the kubelet and begins anew. It runs no goroutine and publishes nothing.
package podsapi
