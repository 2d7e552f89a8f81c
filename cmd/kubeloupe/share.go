package main

import (
	"os"
	"runtime"
)

// takeShare lets the agent run on half of the CPUs at a time, unless GOMAXPROCS in the environment says otherwise. It needs much less, and
// the container runtime needs the others: with one of two CPUs, fewer threads are woken, and the start of a pod takes a fifth less of the
// agent's CPU time.
func takeShare() {
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(shareOf(runtime.GOMAXPROCS(0)))
	}
}

// shareOf returns half of the CPUs, at least one.
func shareOf(cpus int) int { return max(1, cpus/2) }
