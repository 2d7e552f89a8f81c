// Package events sends Kubernetes Events about pods, their claims and volumes, and the node, which `kubectl describe` shows.
//
// It owns the queue of events for the API server, their aggregation (equal events become one with a count) and the spam filter. It
// never blocks its callers, and never decides when to send an event: reasons and messages are the caller's.
//
// Recorder.Run sends events one after another, in order, each in a goroutine: if the API server does not respond to one, the next
// ones wait for a few seconds only. Each event is published as node.event immediately, regardless of its result in the API. Dropped
// or rejected events are published as log, the wait for an unreachable API server as pod.wait of the node.
package events
