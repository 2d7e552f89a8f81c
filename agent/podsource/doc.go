// Package podsource delivers desired pods to the agent: from the API server, from files and a URL for static pods, and from memory.
// The mux converts the complete sets of the sources into ADD, UPDATE, REMOVE, RECONCILE and DELETE.
//
// It owns the list and watch of the node's pods, the reading, decoding and defaulting of manifests, the last valid version of each,
// and the annotations kubernetes.io/config.source and .seen. It never starts or stops a pod, never writes a file or to the API
// server, and has one policy only: if a source is invalid or does not respond, its pods remain unchanged. Mirror pods of the API
// server are never run.
//
// Mux.Run runs one goroutine per source; the file source adds one that reads inotify events.
//
// It emits an Event for a pod that is ignored because another one of its source has its name. It publishes trace.Source (SET by a
// source, with the time that reading took; one point per pod and operation by the mux), trace.SourceError, the back-off to a server that does not respond as trace.Wait of the node, and a trace.Log when the kernel
// gives no inotify, when a watch expired, and for each field of a manifest that is unknown or given twice.
package podsource
