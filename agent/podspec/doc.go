// Package podspec knows desired pods: who they are, what the API's defaults make of a manifest, and
// whether it may run as a static pod.
//
// It owns the identity of static pods (UID, name, annotations), the defaults and the validation of
// manifests that never pass an API server. It never reads a file, talks to a runtime or keeps state,
// runs no goroutine and publishes no event.
package podspec
