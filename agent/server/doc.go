// Package server is what the agent listens on: health on localhost and the
// read-only port.
//
// It owns the listeners and the HTTP handlers. It never changes anything on the node and
// has no authentication, which is why the read-only port is off unless asked for.
//
// Listen binds, so that a port in use is known before anything else is touched; Run
// serves with one goroutine per listener. It publishes nothing.
//
// Upstream: pkg/kubelet/server/server.go, InstallDefaultHandlers and ListenAndServeKubeletReadOnlyServer.
package server
