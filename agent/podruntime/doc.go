// Package podruntime turns a desired pod into calls to the container runtime.
//
// It has two halves. Plan functions are pure: the input is the pod and its state in the runtime, the output is a graph
// of steps. The runner executes a graph: it starts all steps that are ready, concurrently, calls the gate before each
// step, and waits if a step needs another. Stepping uses the same path.
//
// The life of a container: image, create, start, postStart hook; then probe results and resizes; at its end preStop
// hook and kill, which share the grace period. Sidecars start in order, each after the previous one has started, and
// stop in reverse order after all other containers. The additional parts of a cluster node (events, probes, hooks,
// secrets, ...) are in [Options].
//
// It owns the crash-loop back-off, the reasons of waiting containers and the record of its latest actions. It never
// keeps a pod's spec, never decides when to sync and never talks to an API server.
//
// It runs a goroutine per step of a plan, only inside Sync, Kill and Clean. It publishes Plan, Action begin/end, Wait,
// Decision and NodeEvent.
//
// Upstream: pkg/kubelet/kuberuntime, computePodActions, SyncPod, killPod.
package podruntime
