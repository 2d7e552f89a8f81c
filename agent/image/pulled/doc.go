// Package pulled remembers with which credentials images were pulled, so that a pod does not
// get a private image just because another pod pulled it.
//
// It owns ROOT/image_manager, in upstream's layout: a record for each image that was pulled
// and a note for each pull under way. A kubelet that takes over finds both. It never pulls
// and never asks the runtime. What cannot be read counts as never pulled, which at worst
// costs a pull.
//
// It runs no goroutine and publishes Log when a file cannot be read or written.
//
// Upstream: pkg/kubelet/images/pullmanager.
package pulled
