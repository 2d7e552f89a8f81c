// Package usage measures the resource usage of an agent and the stalls of the node's tasks. The agent is this process,
// or another one: a kubelet that is watched from outside.
//
// It reads /proc: the agent's CPU time, run delay and memory, the usage of the node's CPUs and memory, and the kernel's
// pressure figures (PSI). A figure that the kernel or the platform does not have is zero or omitted, and never an error. It does
// not act on the figures. It also parses the kernel's figures about a cgroup's CPU limit.
//
// It is below trace because the agent and the observers of other agents need the same figures. It runs no goroutine:
// Run uses its caller's. It publishes a Usage every ten seconds. After a Nudge it publishes one immediately and then
// one per second, until three seconds have passed without another, and as long as a start is worked on or a pod has not
// become ready, up to ten minutes. Intervals have no gaps: for an event after a nudge, there is a figure that begins
// before it and one that ends after it, and the long idle interval before is separate.
package usage
