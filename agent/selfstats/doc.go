// Package selfstats measures the resource usage of the agent and the stalls of the node's tasks.
//
// It reads /proc: the agent's CPU time, run delay and memory, the usage of the node's CPUs, and the kernel's pressure figures
// (PSI). A figure that the kernel or the platform does not have is zero or omitted, and never an error. It does not act on the
// figures.
//
// It runs no goroutine but its caller's, in Run. It publishes a Usage every ten seconds. After a Nudge it publishes one immediately
// and then one per second, until three seconds have passed without another. Intervals have no gaps: for an event after a nudge,
// there is a figure that begins before it and one that ends after it, and the long idle interval before is separate.
package selfstats
