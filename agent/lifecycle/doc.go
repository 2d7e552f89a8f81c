// Package lifecycle runs the postStart and preStop handlers of containers.
//
// It owns the execution of handlers (exec, httpGet, sleep) and the messages about failures. It has no timeout: ctx ends a handler
// that takes too long, for example at the end of the pod's grace period. It never kills or starts a container and keeps no state.
//
// It runs no goroutine. It publishes a Wait of kind hook while a handler runs, and the event LifecycleHTTPFallback.
//
// Upstream: pkg/kubelet/lifecycle/handlers.go.
package lifecycle
