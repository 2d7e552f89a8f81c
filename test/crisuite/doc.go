// Package crisuite is one set of tests for CRI servers: the behavior that the agent depends on, stated once and run against
// the simulated runtime (agent/cri/sim) and against containerd, as testing/slogtest does for log handlers. What
// containerd does is right; where the simulation differs, the simulation is wrong.
//
// Run needs a server with one image that is busybox and one that can be pulled and removed at will. It removes every pod
// that it makes. It waits on events and statuses with deadlines, it asserts no durations but orders of magnitude that
// separate "at once" from "after the grace period". It runs one goroutine, which reads the event stream.
package crisuite
