// Package mirror keeps a mirror pod in the API server for each static pod of the node.
//
// It owns these mirrors: it creates missing ones, replaces those that have another version or are being deleted, and deletes those
// without a static pod. It matches mirrors to static pods by full name, and translates UIDs both ways. It never runs a pod, never
// delays a static pod, and writes no statuses.
//
// Manager.Run handles some mirrors at the same time, each in a goroutine for a limited time. It acts when something changes and,
// after a failure, again with back-off. It publishes trace.StatusPatch (create-mirror, delete-mirror) and its back-off as
// trace.Wait of the node.
//
// Upstream: pkg/kubelet/pod/mirror_client.go, pkg/kubelet/kubelet.go, tryReconcileMirrorPods.
package mirror
