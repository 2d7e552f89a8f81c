// Package probe asks containers whether they have started, are ready and are alive.
//
// It owns the probes of containers and of sidecars (restartable init containers): when
// each attempt is made, how it is made (exec, httpGet, tcpSocket, grpc), how many in a row
// count, and what a probe says of a container now. A startup probe gates the other two. It
// never restarts or kills anything (podruntime asks it and does) and keeps nothing on disk.
//
// The first attempt is made as soon as a container runs, or its initial delay is over. Where
// a container has no initial delay and is not up yet, a few early ones follow within the
// first period; that they fail does not count and is told only to the trace, so a pod is
// ready soon after its process is, and the manifest's figures still hold for failures.
//
// With an attempt that fails goes what the container's CPU limit held back until then, as the
// kernel counts it: only such attempts, and those that take half of their timeout, read that.
//
// Each attempt runs in a goroutine of its own, made by a timer; between attempts there is
// none. Run has one, which hands out updates.
//
// It publishes ProbeAttempt begin and end around each attempt, Wait of kind probe while a
// container that is not up yet waits for the next one, and the events Unhealthy and
// ProbeWarning.
//
// Upstream: pkg/kubelet/prober.
package probe
