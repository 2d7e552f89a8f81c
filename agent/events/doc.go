// Package events tells the cluster what happens to pods and the node: the Kubernetes Events that
// `kubectl describe` shows.
//
// It owns the queue of events on their way to the API server, their aggregation (like events become
// one with a count) and the spam filter. It never blocks who reports something, and never decides
// what is worth an event: reasons and messages are the caller's.
//
// Recorder.Run sends events one after another, in order, each in a goroutine: one that the API server does not answer
// keeps the next ones waiting for some seconds only. Each event is
// published as node.event at once, whatever becomes of it in the API. Events that were dropped or
// refused are published as log, the wait for an unreachable API server as pod.wait of the node.
package events
