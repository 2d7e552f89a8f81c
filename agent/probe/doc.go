// Package probe runs the startup, readiness and liveness probes of containers.
//
// It owns the probes of containers and of sidecars (restartable init containers): when each attempt is made, how it is
// made (exec, httpGet, tcpSocket, grpc), how many attempts in a row count, and the current state of each probe. While a
// startup probe has not succeeded, the other two do not run. It never restarts or kills anything (podruntime does) and
// keeps nothing on disk.
//
// The first attempt is made as soon as a container runs, or after its initial delay. If a container has no initial
// delay and is not up yet, a few early attempts follow within the first period. Their failures do not count and are
// only published. So a pod is ready soon after its process is, and the manifest's figures still apply to failures.
//
// The record of a failed attempt has how much the container's CPU limit throttled it, from the kernel's figures. Only
// failed attempts, and those that take half of their timeout, read these.
//
// Each attempt runs in a separate goroutine, started by a timer; between attempts there is none. Run has one, which
// delivers updates.
//
// It publishes ProbeAttempt begin and end around each attempt, Wait of kind probe while a container that is not up yet
// waits for the next one, and the events Unhealthy and ProbeWarning.
//
// Upstream: pkg/kubelet/prober.
package probe
