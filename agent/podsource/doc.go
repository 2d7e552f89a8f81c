// Package podsource brings desired pods to the agent: a file source for static pods, a source in
// memory, and the mux that turns the whole sets which sources deliver into ADD, UPDATE, REMOVE,
// RECONCILE and DELETE.
//
// It owns the reading, decoding and defaulting of manifests, the last good version of each, and the
// annotations kubernetes.io/config.source and .seen. It never starts or stops a pod, never writes a
// file and holds no policy beyond: what is broken stays as it was.
//
// Mux.Run runs one goroutine per source; the file source adds one that reads inotify events.
//
// It publishes trace.Source (SET by a source, with the time that reading took; one point per pod and
// operation by the mux), trace.SourceError, and a trace.Log when the kernel gives no inotify.
package podsource
