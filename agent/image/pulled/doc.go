// Package pulled records the credentials with which images were pulled, so that a pod does not get a private image only because
// another pod pulled it.
//
// It owns ROOT/image_manager, in upstream's layout: a record for each pulled image and a file for each pull in progress. A kubelet
// that takes over finds both. It never pulls and never calls the runtime. If a record cannot be read, the image counts as not
// pulled, which costs at most one pull.
//
// It runs no goroutine and publishes Log when a file cannot be read or written.
//
// Upstream: pkg/kubelet/images/pullmanager.
package pulled
