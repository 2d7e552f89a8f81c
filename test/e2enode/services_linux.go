package main

import "syscall"

// inOwnNetwork has a process be in a network namespace of its own, and die with the thread that made it.
func inOwnNetwork() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNET, Pdeathsig: syscall.SIGKILL}
}
