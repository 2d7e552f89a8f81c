// Package selfstats tells what the agent itself takes and how long the node's tasks stall.
//
// It owns the reading of /proc: the agent's processor time, run delay and memory, how busy the node's processors are, and the kernel's
// pressure figures (PSI). What a kernel or a platform does not have is zero or left out, and never an error. It acts on nothing that it
// finds.
//
// It runs no goroutine but its caller's, in Run. It publishes a Usage every ten seconds from its beginning on. From a Nudge on it publishes one at once and
// then each second, until three seconds have passed without another. Intervals follow each other without a gap: of whatever happens
// after a nudge there is a figure that begins before it and one that ends after it, and the long idle one before is not mixed into it.
package selfstats
