// Command bench compares the agent with the floor that the container runtime sets.
//
// It starts two labs: the agent works on one, direct CRI calls on its twin. Samples of
// both interleave, so that the machine's drift hits both alike, and what is printed are ratios. Both
// sides are timed by the runtime's own event stream, from the cause (a manifest's write, the first
// call) to the event (the last container started, the sandbox deleted).
//
//	make bench                  all rows
//	go run ./test/bench -rows one,burst30 -n 20
package main
