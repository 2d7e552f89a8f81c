// Package server is what the agent listens on: health on localhost, the read-only port, and the
// authenticated port that kubectl logs, exec, attach, cp and port-forward reach through the API server.
//
// It owns the listeners and the HTTP handlers. It changes nothing by itself: what runs in a container on a client's behalf is
// the runtime's doing, to whose streaming server it passes connections on. The read-only port has no authentication,
// which is why it is off unless asked for.
//
// Listen binds, so that a port in use is known before anything else is touched; Run
// serves with one goroutine per listener, and one per connection. Each request is published as a
// trace.ServerRequest, whose span is the cause of the calls to the runtime that it makes.
//
// Upstream: pkg/kubelet/server/server.go.
package server
