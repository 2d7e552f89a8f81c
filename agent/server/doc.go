// Package server has the agent's HTTP servers: health on localhost, the read-only port, and the authenticated port that kubectl
// logs, exec, attach, cp and port-forward use through the API server.
//
// It owns the listeners and the HTTP handlers. It changes nothing by itself: for commands in containers, it forwards the connection
// to the runtime's streaming server. The read-only port has no authentication, so it is disabled by default.
//
// Listen binds, so that a port in use is noticed before the agent changes anything; Run serves with one goroutine per listener, and
// one per connection. Each request is published as a trace.ServerRequest, whose span is the parent of the calls to the runtime that
// it causes.
//
// Upstream: pkg/kubelet/server/server.go.
package server
