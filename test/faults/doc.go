// Command faults brings faults of a node about, one after the other, under the real agent on a real containerd, and prints for each:
// is the agent up, how much memory did it take (peak resident set, before and under the fault), and how long another pod takes to start
// under the fault against without it. Starts are interleaved, some without and some under the fault, round by round; the ratio is that
// of the medians, with an interval from the rounds. A fault also says what must be told while it lasts: an agent that hides it fails.
//
// The lab is in a network namespace of its own where the tests run it, and is removed with all that a fault has made. Faults end by
// themselves or with their pods; they are bounded in memory, disk and processes. `make faults` runs all; the tests run those that take
// seconds.
package main
