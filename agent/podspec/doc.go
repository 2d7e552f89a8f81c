// Package podspec handles the specs of desired pods: their identity, the API's defaults, and whether a manifest is valid as a
// static pod.
//
// It owns the identity of static pods (UID, name, annotations), the defaults and the validation of
// manifests that never pass an API server. It never reads a file, talks to a runtime or keeps state,
// runs no goroutine and publishes no event.
package podspec
