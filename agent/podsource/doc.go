// Package podsource brings desired pods to the agent: from the API server, from files and a URL for
// static pods, from memory; and the mux turns the whole sets which sources deliver into ADD, UPDATE,
// REMOVE, RECONCILE and DELETE.
//
// It owns the list and watch of the node's pods, the reading, decoding and defaulting of manifests, the
// last good version of each, and the annotations kubernetes.io/config.source and .seen. It never starts
// or stops a pod, never writes a file or to the API server and holds no policy beyond: what is broken
// or does not answer stays as it was. Mirror pods of the API server are never pods to run.
//
// Mux.Run runs one goroutine per source; the file source adds one that reads inotify events.
//
// It publishes trace.Source (SET by a source, with the time that reading took; one point per pod and
// operation by the mux), trace.SourceError, the back-off to a server that does not answer as trace.Wait of the node, and a
// trace.Log when the kernel gives no inotify or a watch expired.
package podsource
