// Package podruntime turns a desired pod into calls to the container runtime.
//
// It is in two halves. Plan functions are pure: the pod and what the runtime has
// of it go in, a graph of steps comes out. The runner carries a graph out: it
// starts whatever is ready, concurrently, asks the gate before each step, and
// joins where a step needs another. There is no second path for stepping.
//
// A container's life: image, create, start, postStart hook; then its probes' verdicts and other
// resources; at its end preStop hook and kill, which share the grace period. Sidecars start in order, each
// once the one before has started, and end in reverse after all others. What a node of a cluster adds
// (events, probes, hooks, secrets, ...) comes through [Options].
//
// It owns the crash-loop back-off, the reasons of waiting containers and what it
// knows of its own latest actions. It never keeps a pod's spec, never decides
// when to sync and never talks to an API server.
//
// It runs a goroutine per step of a plan, only inside Sync, Kill and Clean.
// It publishes Plan, Action begin/end, Wait, Decision and NodeEvent.
//
// Upstream: pkg/kubelet/kuberuntime, computePodActions, SyncPod, killPod.
package podruntime
