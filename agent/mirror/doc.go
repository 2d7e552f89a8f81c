// Package mirror keeps in the API server, for each static pod of the node, a pod that shows it: its
// mirror.
//
// It owns the mirrors of the node's static pods: it makes those that are missing, replaces those that
// show another version or are being deleted, and deletes those that show nothing. It knows which mirror
// is whose, by full name, and translates UIDs both ways. It never runs a pod, never holds up a static
// pod, and writes no statuses.
//
// Manager.Run works on some mirrors at once, each in a goroutine for a limited time. It acts when something changes and, after a failure, again with
// back-off. It publishes trace.StatusPatch (create-mirror, delete-mirror) and its back-off as trace.Wait of
// the node.
//
// Upstream: pkg/kubelet/pod/mirror_client.go, pkg/kubelet/kubelet.go, tryReconcileMirrorPods.
package mirror
