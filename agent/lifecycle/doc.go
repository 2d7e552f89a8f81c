// Package lifecycle runs the postStart and preStop handlers of containers.
//
// It owns how a handler is run (exec, httpGet, sleep) and what is said of one that fails.
// It has no timeout of its own: ctx ends a handler that takes too long, as a pod's grace
// period does. It never kills or starts a container and keeps no state.
//
// It runs no goroutine. It publishes a Wait of kind hook while a handler sleeps or answers,
// and the event LifecycleHTTPFallback.
//
// Upstream: pkg/kubelet/lifecycle/handlers.go.
package lifecycle
